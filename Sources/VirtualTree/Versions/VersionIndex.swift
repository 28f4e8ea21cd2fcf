import BackupCore
import BackupRepository
import SystemIO

/// What the folders of one path have over all backups, by name. It is made in one pass over them: to look for each name in each
/// backup would take a folder of 2,000 photos and 60 backups minutes.
struct VersionIndex: Sendable {
    /// An entry of a folder.
    struct Place: Sendable {
        /// The index of the folder in the list.
        let source: Int32
        let index: Int32
    }

    struct Name: Sendable {
        /// Of the newest entry.
        var modificationTime = Timestamp(seconds: 0)
        /// The different contents that the file had, oldest first.
        var files: [Place] = []
        /// The different folders of that name, oldest first.
        var folders: [Place] = []
    }

    let names: [FileName: Name]

    static let empty = VersionIndex(names: [:])
    private init(names: [FileName: Name]) { self.names = names }

    /// Entries with the same are the same version.
    private enum Content: Hashable {
        case file(SHA256Digest)
        /// Of a file without digests, or a folder. The same bytes may have been cut in another way; then they are there twice.
        case stored(FileContent)

        init(_ entry: TreeEntry) { self = entry.checksums.map { .file($0.sha256) } ?? .stored(entry.content) }
    }

    init(_ sources: [VersionSource]) throws(BackupError) {
        var names: [FileName: Name] = [:]
        var contents: [FileName: [Content]] = [:]
        for (number, source) in sources.enumerated() {
            try Cancellation.check()
            for (index, entry) in try source.folder.entries().enumerated() where entry.kind != .symbolicLink {
                let content = Content(entry)
                // Most are as they were.
                let known = contents[entry.name]
                names[entry.name, default: Name()].modificationTime = entry.modificationTime
                if let known, known.last == content || known.contains(content) { continue }
                contents[entry.name, default: []].append(content)
                let place = Place(source: Int32(number), index: Int32(index))
                if entry.kind == .directory {
                    names[entry.name, default: Name()].folders.append(place)
                } else {
                    names[entry.name, default: Name()].files.append(place)
                }
            }
        }
        self.names = names
    }
}
