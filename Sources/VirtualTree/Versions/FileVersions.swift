import BackupCore
import BackupRepository
import SystemIO

/// The different contents that a file had in the backups of a store.
struct FileVersions: Sendable {
    struct Version: Sendable {
        /// Of the version: the time of the oldest backup that has it, with the extension of the file.
        let name: FileName
        let entry: TreeEntry
        /// The oldest backup that has it, and its place there.
        let source: VersionSource
        let index: Int
    }

    /// Oldest first. A content that came back is there once.
    let versions: [Version]

    /// - Parameters:
    ///   - name: of the file.
    ///   - folders: that may have it.
    ///   - taken: names that none of the versions may have.
    init(of name: FileName, in folders: VersionSourceList, unless taken: Set<FileName>) throws(BackupError) {
        var versions: [Version] = []
        var taken = taken
        let ending = Self.ending(of: name)
        for place in folders.index.names[name]?.files ?? [] {
            let source = folders.sources[Int(place.source)]
            let index = Int(place.index)
            let entry = try source.folder.entries()[index]
            let name = Self.unused(source.snapshot.stamp, ending, &taken)
            versions.append(Version(name: name, entry: entry, source: source, index: index))
        }
        self.versions = versions
    }
    /// Longer ones are no file types, but parts of a name with a dot.
    private static let endingLimitBytes = 16

    /// `.jpg` of `IMG_1.jpg`; empty for a name without an extension.
    private static func ending(of name: FileName) -> [UInt8] {
        guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.bytes.count - dot <= endingLimitBytes,
            dot + 1 < name.bytes.count
        else { return [] }
        return Array(name.bytes[dot...])
    }

    private static func unused(_ stamp: String, _ ending: [UInt8], _ taken: inout Set<FileName>) -> FileName {
        var number = 1
        while true {
            let stem = number == 1 ? stamp : "\(stamp)_\(number)"
            let name = FileName(bytes: Array(stem.utf8) + ending)
            if taken.insert(name).inserted { return name }
            number += 1
        }
    }
}

/// A version of a file in `versions/`: the file of the oldest backup that has it, under another name.
final class VersionFile: FileNode {
    let inode: InodeNumber
    private let file: StoredFile
    private let backup: FileName

    init(_ version: FileVersions.Version, in folder: InodeNumber) {
        // The kernel keeps the bytes of a number. Another backup may give the same name to another content: when it was made in
        // the same second as one that was removed, or when an hour is repeated.
        inode = folder.snapshot(version.source.snapshot.id).child(version.name)
        backup = version.source.snapshot.name
        file = version.source.folder.file(at: version.index, version.entry, inode: inode)
    }

    /// The name of the oldest backup with this version.
    static let backupName = "user.backupfs.backup"

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = try file.attributes()
        // The name disappears with the backup.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    var looksAtTheRepository: Bool { true }
    var waitsForNetwork: Bool { file.waitsForNetwork }
    var mimeType: String? { file.mimeType }
    var hasChecksums: Bool { true }
    var listsChecksums: Bool { file.listsChecksums }
    var computesChecksums: Bool { file.computesChecksums }
    func checksums() throws(BackupError) -> Checksums? { try file.checksums() }
    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] { try file.storedExtendedAttributes() }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        let name = MessageText.shortened(backup.description, limit: 255)
        return try file.ownExtendedAttributes() + [(Self.backupName, name)]
    }

    var givesContent: Bool { file.givesContent }
    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile { try file.open(flags: flags, process: process) }
}
