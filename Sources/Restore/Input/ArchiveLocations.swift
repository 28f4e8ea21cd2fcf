import AppData
import BackupCore
import BackupRepository
import Formats

/// The location of the records and the media in an archive. Its layout is the one it was created with: that of the app's
/// archives, by the current or an older definition, or that of an unchanged backup folder. A restore that looked for the media in
/// the wrong folder would combine old records with new photos.
struct ArchiveLocations {
    private static let export = "export.json"
    private static let database = "database.sqlite"
    /// Other files of a backup's folder, which a restore does not need.
    private static let others = [
        "manifest.json", "schema.json", "changes.json", "index.html", "data/", "by-key/", "SHA256SUMS", "MD5SUMS", "archive.zip",
        "archive.tar",
    ]
    /// Those of a backup with a list of photos. Without the list, folders of these names may be the media.
    private static let photoList = "photos.jsonl"
    private static let ofPhotos = [photoList, "metadata/", "thumbnails/", "photos/"]

    /// The export, or the database of an app without a definition.
    let records: ArchiveEntry
    let hasDatabase: Bool
    /// The database of the backup, whether or not it is the records.
    let database: ArchiveEntry?
    let mediaPaths: ArchiveMediaPaths
    /// Files at places where a backup has none. Only counted if the app has media, since they may be media.
    private var unplacedCount = 0
    private var firstUnplaced: [UInt8]?
    /// The first of them that is in a folder.
    private var firstInFolder: [UInt8]?
    /// Whether the archive defines the content of the media folder, even if it is empty.
    let hasMedia: Bool

    /// - Parameters:
    ///   - layout: the one that the archive was created with; `nil` if unknown: then it is detected from the entries.
    ///   - takesDatabase: whether the records are the database, if there is one.
    ///   - takesDatabaseWithoutExport: the same for an archive without an export, as of a backup that does not store it.
    ///   - name: the user's name for the archive.
    /// - Throws: `invalidContent` for an archive without records, and for one whose media are in an unknown folder.
    init(
        of entries: ArchiveEntryList, layout: ArchivePathMap?, definition: AppDefinition, takesDatabase: Bool,
        takesDatabaseWithoutExport: Bool, name: String
    ) throws(BackupError) {
        // A backup's folder that was packed again. Its `photos/` has links, which may have been packed as files; in the app's own
        // archives, the media may have that name.
        let isFolder = [Self.photoList, Self.export, "manifest.json"].allSatisfy { name in
            entries.contains { $0.path.elementsEqual(name.utf8) }
        }
        let usual: [ArchivePathMap] = isFolder ? [.identity] : [definition.archiveLayout, .identity]
        let layouts = layout.map { [$0] } ?? usual
        var candidates = layouts.map { Candidate($0, entries, hasDatabase: takesDatabase, isFolder: isFolder) }
        if takesDatabaseWithoutExport, candidates.allSatisfy({ $0.records == nil }) {
            candidates = layouts.map { Candidate($0, entries, hasDatabase: true, isFolder: isFolder) }
        }
        let fitting = candidates.filter { $0.records != nil }
        let isRepacked = fitting.contains { $0.hasMedia && $0.mediaPaths.layout.isIdentity }
        let best = fitting.first { $0.hasMedia && !(isRepacked && $0.hasOnlyViews) } ?? fitting.first
        guard let chosen = best, let records = chosen.records else {
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
            for entry in entries where !entry.isDirectory { recordUnplaced(entry.path, chosen) }
        }
        try requireMediaFolder(definition, name)
    }

    private mutating func recordUnplaced(_ path: [UInt8], _ layout: Candidate) {
        guard !layout.knows(path), !Self.isLitter(path) else { return }
        unplacedCount += 1
        if firstUnplaced == nil { firstUnplaced = path }
        if firstInFolder == nil, path.contains(UInt8(ascii: "/")) { firstInFolder = path }
    }

    /// A file beside the export may be anything, such as a readme. If an archive has no media in the right place, its files in
    /// other folders are the media.
    private func requireMediaFolder(_ definition: AppDefinition, _ name: String) throws(BackupError) {
        guard !hasMedia, let first = firstInFolder else { return }
        let folder = MessageText.name(mediaPaths.archivePath(of: []))
        throw BackupError(
            .invalidContent, "Import failed: the archive's media are not in \(folder)", path: name,
            remedy: """
                If they are the media of \(definition.title), give their folder that name, and pack it again. To restore the records \
                alone, unpack the archive, and restore \(MessageText.name(records.path)).
                """,
            findings: [unplacedMessage(first)])
    }

    /// - Throws: `invalidContent` when the archive has no media, which only a backup without media may lack.
    func requireMedia(_ name: String) throws(BackupError) {
        guard !hasMedia else { return }
        throw BackupError(
            .invalidContent, "Import failed: the archive has none of the backup's media", path: name,
            remedy: "Restore the backup into another folder with --target.")
    }

    /// Warnings about files that are not restored.
    var warnings: [Message] { firstUnplaced.map { [unplacedMessage($0)] } ?? [] }

    private func unplacedMessage(_ first: [UInt8]) -> Message {
        .plural(
            unplacedCount,
            one:
                "\(unplacedCount) file of the archive is not restored, since it is in no known place: \(MessageText.name(first))",
            other:
                "\(unplacedCount) files of the archive are not restored, since they are in no known place; the first is \(MessageText.name(first))"
        )
    }

    /// Files that desktops leave in each folder that they show or pack.
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
        /// Whether all of its media lie where a backup's folder has the views of its photos.
        let hasOnlyViews: Bool
        private let isFolder: Bool

        /// - Parameters:
        ///   - layout: if it leaves the records out, they are looked up at a backup's paths.
        ///   - isFolder: whether the archive has the list of photos of a backup's folder.
        init(_ layout: ArchivePathMap, _ entries: ArchiveEntryList, hasDatabase: Bool, isFolder: Bool) {
            self.isFolder = isFolder
            func path(_ own: String) -> [UInt8] { layout.archivePath(of: Array(own.utf8)) ?? Array(own.utf8) }
            func entry(_ own: String) -> ArchiveEntry? {
                let path = path(own)
                return entries.first { $0.path == path }
            }
            exportPath = String(decoding: path(ArchiveLocations.export), as: UTF8.self)
            // A database brings its tables; an export needs existing ones.
            let database = entry(ArchiveLocations.database)
            self.database = database
            self.hasDatabase = hasDatabase && database != nil
            records = self.hasDatabase ? database : entry(ArchiveLocations.export)
            let paths = ArchiveMediaPaths(layout: layout)
            mediaPaths = paths
            hasMedia = entries.contains { paths.mediaPath(of: $0.path) != nil }
            hasOnlyViews =
                !layout.isIdentity
                && entries.allSatisfy { entry in
                    guard !entry.isDirectory, let path = paths.mediaPath(of: entry.path) else { return true }
                    return ["by-date/", "by-camera/", "duplicates/"].contains { path.starts(with: $0.utf8) }
                }
        }

        /// Whether an archive of this layout can have something at this path.
        func knows(_ path: [UInt8]) -> Bool {
            if mediaPaths.mediaPath(of: path) != nil { return true }
            let layout = mediaPaths.layout
            if !layout.isIdentity, layout.snapshotPath(of: path) != nil { return true }
            let places =
                [ArchiveLocations.export, ArchiveLocations.database] + ArchiveLocations.others
                + (isFolder ? ArchiveLocations.ofPhotos : [])
            return places.contains { $0.hasSuffix("/") ? path.starts(with: $0.utf8) : path.elementsEqual($0.utf8) }
        }
    }
}

/// Maps the files of an archive to paths in the media folder.
struct ArchiveMediaPaths: Sendable {
    static let snapshotPrefix = Array("media/".utf8)

    /// The layout that the archive was created with.
    let layout: ArchivePathMap

    /// The path below the media folder; empty for the folder itself, `nil` for other files. If the layout leaves media out, they
    /// are looked up at their snapshot paths.
    func mediaPath(of archivePath: [UInt8]) -> [UInt8]? {
        guard let path = layout.snapshotPath(of: archivePath) ?? (isLeftOut ? archivePath : nil),
            path.starts(with: Self.snapshotPrefix)
        else { return nil }
        return Array(path.dropFirst(Self.snapshotPrefix.count))
    }

    /// The path in the archive of a file in the media folder.
    /// - Parameter mediaPath: empty for the folder.
    func archivePath(of mediaPath: [UInt8]) -> [UInt8] {
        let path = Self.snapshotPrefix + mediaPath
        return layout.archivePath(of: path) ?? path
    }

    private var isLeftOut: Bool { layout.archivePath(of: Self.snapshotPrefix) == nil }
}
