import AppData
import BackupCore
import BackupRepository
import Formats
import Glibc
import SnapshotFormats
import SystemIO

/// A rendering of a snapshot's records from its database. The bytes are those that the backup would have stored, if the app's
/// definition and this program's way of rendering are the same as then.
struct SnapshotRendering {
    let export: SpoolFile
    let facts: RenderedFacts
    /// Values that the export cannot represent exactly.
    let inexact: InexactValues?

    /// - Throws: the repository's errors; `notSupported` for a database that the app's definition does not fit.
    init(of snapshot: Snapshot, _ root: Directory, in repository: Repository, for store: Store) throws(BackupError) {
        guard snapshot.isOfApp(store.definition) || store.definition.coversWholeDatabase else {
            throw BackupError(
                .notSupported, "the backup has no export, and none can be made: it is of another app",
                path: snapshot.name.description, remedy: Self.remedy)
        }
        guard let database = root.entry(named: "database.sqlite"), database.kind == .file else {
            throw BackupError(
                .notFound, "the backup has neither an export nor a database", path: snapshot.name.description)
        }
        self = try store.withWorkFolder { (folder) throws(BackupError) -> SnapshotRendering in
            let path = "\(folder)/database.sqlite"
            try Self.write(database, to: path, from: repository)
            do throws(BackupError) {
                return try SnapshotRendering(path, in: folder, snapshot, root, repository, store)
            } catch {
                guard error.code == .invalidContent || error.code == .damagedContent else {
                    // The user knows the backup, not the copy.
                    throw error.path == path ? error.with(path: snapshot.name.description) : error
                }
                throw error.with(
                    .notSupported, "the backup has no export, and none can be made of its database: \(error.message)",
                    path: snapshot.name.description, remedy: Self.remedy)
            }
        }
    }

    private static let remedy: Message = "Write its files into a folder with: backupfs restore NAME --target FOLDER"

    private static func write(_ entry: TreeEntry, to path: String, from repository: Repository) throws(BackupError) {
        let copy = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
        try repository.copy(repository.extents(of: entry.content)) { (bytes) throws(BackupError) in
            try Cancellation.check()
            try copy.writeAll(bytes)
        }
    }

    private init(
        _ path: String, in folder: String, _ snapshot: Snapshot, _ root: Directory, _ repository: Repository, _ store: Store
    ) throws(BackupError) {
        let definition = store.definition
        let media = definition.describesMedia ? root.entry(named: "media")?.storedDirectory : nil
        let database = AppDatabase(
            at: path, definition: definition, media: media.map { StoredMediaCatalog($0, in: repository) },
            // As the backup would have read it.
            avoidsIndexes: try DroppedDatabase.damage(ofCopy: path) != nil)
        try database.check()
        let exportPath = "\(folder)/export.json"
        let ranges = RangeRecordingSink(try OwnedDescriptor.open(exportPath, O_WRONLY | O_CREAT | O_EXCL))
        let sink = ChecksummingSink(ranges)
        let (format, statistics) = try database.readSnapshot { (rows) throws(BackupError) in
            (rows.definition, try WireWriter().write(rows, createdAt: snapshot.creationTime, to: sink))
        }
        export = try SpoolFile(consuming: exportPath)
        facts = RenderedFacts(
            sizeBytes: export.size, crc32: sink.crc32,
            collections: zip(ranges.collections, sink.collectionCRC32s).map {
                RenderedFacts.Collection(name: $0.name, range: $0.range, crc32: $1)
            }, naming: ManifestNaming(format)?.text)
        inexact = InexactValues(statistics)
    }

    /// The files, with their bytes.
    func files(of snapshot: Snapshot, _ layout: ArchivePathMap) throws(BackupError) -> RenderedFiles {
        try facts.files(of: snapshot, layout) { export.part($0) }
    }
}

extension Snapshot {
    /// Whether its records are those of this app.
    func isOfApp(_ definition: AppDefinition) -> Bool { record.attributes[Self.appAttribute] == definition.name }
}
