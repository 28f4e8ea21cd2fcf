import AppData
import BackupCore
import BackupRepository
import Export

/// Where the records and the media lie in an archive. It has the layout that it was made with: that of the app's archives, by a definition of now or of
/// before, or that of a backup's folder as it lies. A restore that looked for the media in the wrong folder would put old records beside new photos.
struct ArchivePlaces {
    private static let export = "export.json"
    private static let database = "database.sqlite"
    /// What else lies in a backup's folder, and is of no use to a restore.
    private static let others = [
        "manifest.json", "schema.json", "changes.json", "data/", "by-key/", "SHA256SUMS", "MD5SUMS", "archive.zip", "archive.tar",
    ]

    /// The export, or the database of an app that nobody has described.
    let records: ArchiveEntry
    let hasDatabase: Bool
    /// The database of the backup, whether or not the records are it.
    let database: ArchiveEntry?
    let mediaPaths: ArchiveMediaPaths
    /// Files that lie where nothing of a backup does. Only looked for if the app has media, of which they may be.
    private var unplacedCount = 0
    private var firstUnplaced: [UInt8]?
    /// The first of them in a folder.
    private var firstInFolder: [UInt8]?
    /// Whether the archive says what the media folder is to hold, be it nothing.
    let hasMedia: Bool

    /// - Parameters:
    ///   - layout: the one that the archive was made with; `nil` where that is not known: then the archive's entries tell.
    ///   - takesDatabase: whether the records are the database, if there is one.
    ///   - name: what the person calls the archive.
    /// - Throws: `invalidContent` for an archive without records, and for one whose media lie in a folder that is not known.
    init(
        of entries: ArchiveEntryList, layout: ArchivePathMap?, definition: AppDefinition, takesDatabase: Bool, name: String
    ) throws(BackupError) {
        let layouts = layout.map { [$0] } ?? [definition.archiveLayout, .identity]
        let candidates = layouts.map { Candidate($0, entries, hasDatabase: takesDatabase) }
        let fitting = candidates.filter { $0.records != nil }
        guard let chosen = fitting.first(where: \.hasMedia) ?? fitting.first, let records = chosen.records else {
            let path = candidates[0].exportPath
            throw BackupError(
                .invalidContent, "Import failed: the archive has no \(path)", path: name,
                findings: ["the archive is not a backup of \(definition.title)"])
        }
        self.records = records
        hasDatabase = chosen.hasDatabase
        database = chosen.database
        mediaPaths = chosen.mediaPaths
        hasMedia = chosen.hasMedia
        if definition.media != nil {
            for entry in entries where !entry.isDirectory { note(entry.path, chosen) }
        }
        try requireMediaFolder(definition, name)
    }

    private mutating func note(_ path: [UInt8], _ layout: Candidate) {
        guard !layout.knows(path), !Self.isLitter(path) else { return }
        unplacedCount += 1
        if firstUnplaced == nil { firstUnplaced = path }
        if firstInFolder == nil, path.contains(UInt8(ascii: "/")) { firstInFolder = path }
    }

    /// A file beside the export may be anything, such as a text to read. Files in a folder, of an archive that has no media where they belong, are the media.
    private func requireMediaFolder(_ definition: AppDefinition, _ name: String) throws(BackupError) {
        guard !hasMedia, let first = firstInFolder else { return }
        let folder = MessageText.name(mediaPaths.archivePath(of: []))
        throw BackupError(
            .invalidContent, "Import failed: the archive's media do not lie in \(folder)", path: name,
            remedy: """
                If they are the media of \(definition.title), give their folder that name, and pack it again. To restore the records \
                alone, unpack the archive, and restore \(MessageText.name(records.path)).
                """,
            findings: [unplacedMessage(first)])
    }

    /// - Throws: `invalidContent` when the archive has no media, as only a backup without media may be.
    func requireMedia(_ name: String) throws(BackupError) {
        guard !hasMedia else { return }
        throw BackupError(
            .invalidContent, "Import failed: the archive has none of the backup's media", path: name,
            remedy: "Restore the backup into another folder with --target.")
    }

    /// What is to be said of files that are not restored.
    var warnings: [Message] { firstUnplaced.map { [unplacedMessage($0)] } ?? [] }

    private func unplacedMessage(_ first: [UInt8]) -> Message {
        .plural(
            unplacedCount,
            one:
                "\(unplacedCount) file of the archive is not restored, since it lies in no place that is known: \(MessageText.name(first))",
            other:
                "\(unplacedCount) files of the archive are not restored, since they lie in no place that is known; the first is \(MessageText.name(first))"
        )
    }

    /// What desktops leave in each folder that they show or pack.
    private static func isLitter(_ path: [UInt8]) -> Bool {
        let components = BytePath.components(of: path)
        guard let last = components.last else { return false }
        return components.first == "__MACOSX" || last.bytes.starts(with: "._".utf8)
            || [".DS_Store", "Thumbs.db", "desktop.ini", ".directory"].contains(last)
    }

    /// One layout that the archive may have.
    private struct Candidate {
        let exportPath: String
        let records: ArchiveEntry?
        let hasDatabase: Bool
        let database: ArchiveEntry?
        let mediaPaths: ArchiveMediaPaths
        let hasMedia: Bool

        /// - Parameter layout: records that it leaves out are looked for where a backup has them.
        init(_ layout: ArchivePathMap, _ entries: ArchiveEntryList, hasDatabase: Bool) {
            func path(_ own: String) -> [UInt8] { layout.archivePath(of: Array(own.utf8)) ?? Array(own.utf8) }
            func entry(_ own: String) -> ArchiveEntry? {
                let path = path(own)
                return entries.first { $0.path == path }
            }
            exportPath = String(decoding: path(ArchivePlaces.export), as: UTF8.self)
            // Its tables come with the database; an export needs them to be there.
            let database = entry(ArchivePlaces.database)
            self.database = database
            self.hasDatabase = hasDatabase && database != nil
            records = self.hasDatabase ? database : entry(ArchivePlaces.export)
            let paths = ArchiveMediaPaths(layout: layout)
            mediaPaths = paths
            hasMedia = entries.contains { paths.mediaPath(of: $0.path) != nil }
        }

        /// Whether an archive of this layout has something at this path.
        func knows(_ path: [UInt8]) -> Bool {
            if mediaPaths.mediaPath(of: path) != nil { return true }
            let layout = mediaPaths.layout
            if !layout.isIdentity, layout.snapshotPath(of: path) != nil { return true }
            let places = [ArchivePlaces.export, ArchivePlaces.database] + ArchivePlaces.others
            return places.contains { $0.hasSuffix("/") ? path.starts(with: $0.utf8) : path.elementsEqual($0.utf8) }
        }
    }
}
