import AppData
import BackupCore
import Formats
import Glibc
import SnapshotFormats
import Synchronization
import SystemIO

/// One instant of the app's records: the export, with the ranges of its collections, and a copy of the database. Both are unnamed
/// spool files. The export is made from the copy, so they agree whatever the app writes meanwhile.
final class AppRendering: Sendable {
    /// Increment when this program renders the same records differently, looks for other data that exports lack, refuses other
    /// values, or identifies database states differently: earlier backups are then no longer reused. Version 1 looked for the log
    /// of a database behind a symbolic link beside the link. Version 2 gave files in archives names that were too long. Version 3
    /// did not count what the export cannot hold. Version 4 checked neither indexes nor values that a restore refuses.
    static let renderingVersion = 5

    let createdAt: Timestamp
    /// Unique to this rendering.
    let version = UInt64.random(in: 0...UInt64.max)
    let export: SpoolFile
    /// The parts of the export that are `data/NAME.json`, in the definition's order.
    let collections: [(name: String, file: SpoolFile)]
    let database: SpoolFile
    /// The JSON Schema of the export.
    let schema: [UInt8]
    let facts: RecordFacts
    /// Values that the export cannot represent exactly.
    let inexact: InexactValues?
    /// A second export with a placeholder for each unknown checksum; `nil` when all are known, or when not requested.
    let placeholderExport: (text: SpoolFile, placeholders: ChecksumPlaceholders)?
    /// Values that some restores would refuse; `nil` when there are none, or when not requested.
    let refused: RefusedValues?
    /// The damage that SQLite found in the database; `nil` when there is none, or when not requested.
    let damage: String?

    /// - Parameters:
    ///   - folder: for the spool files: empty, and on a disk with space for them. They are unlinked immediately.
    ///   - createdAt: the creation time in the export.
    ///   - checksDatabase: whether SQLite checks the copy of the database, and the definition whether a restore would accept its
    ///     values.
    ///   - fillsChecksums: whether to make `placeholderExport`.
    ///   - rendersRecords: whether the export has the records. Otherwise it is only the text around the collections, which are
    ///     empty ranges.
    ///   - rows: decides which collections are not rendered as a whole. In the export, they are empty ranges.
    ///   - progress: receives the number of export bytes as they are written.
    ///   - databaseIsReady: receives the copy of the database before it is checked and the export is written, so that it can be
    ///     used meanwhile.
    init(
        of database: AppDatabase, in folder: String, createdAt: Timestamp, checksDatabase: Bool = false,
        fillsChecksums: Bool = false, rendersRecords: Bool = true, rows: RowRendering? = nil,
        progress: @escaping (UInt64) -> Void = { _ in }, databaseIsReady: (SpoolFile) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) {
        self.createdAt = createdAt
        let exportPath = "\(folder)/live.json"
        let databasePath = "\(folder)/live.sqlite"
        let sink = RangeRecordingSink(try OwnedDescriptor.open(exportPath, O_WRONLY | O_CREAT | O_EXCL), progress)
        // The transaction on the app's database ends with the copy: without a write-ahead log, the app cannot write until then.
        // Everything else is read from the copy.
        try database.readSnapshot { (snapshot) throws(BackupError) in
            try snapshot.copyDatabase(to: databasePath)
        }
        let copy = try SpoolFile(keeping: databasePath)
        // It can be stored while SQLite checks it: both only read.
        try databaseIsReady(copy)
        let damage = checksDatabase ? try DroppedDatabase.damage(ofCopy: databasePath) : nil
        self.damage = damage
        let aside = WorkGroup(WorkerPool(threadCount: 1, queueLimit: 1))
        let found = Mutex<RefusedValues?>(nil)
        do throws(BackupError) {
            let unknown = fillsChecksums ? database.media.map { UnknownChecksums($0) } : nil
            let copied = AppDatabase(
                at: databasePath, definition: database.definition, media: unknown ?? database.media, avoidsIndexes: damage != nil)
            (facts, inexact) = try copied.readSnapshot { (snapshot) throws(BackupError) in
                if damage == nil { try rows?.prepare(snapshot, copy) }
                // Which rows have to be checked is known when everything is rendered. All of them are checked meanwhile.
                if checksDatabase, damage == nil, rows?.takesRows != true {
                    aside.submit { () throws(BackupError) in
                        let values = try RefusedValues(of: copied)
                        found.withLock { $0 = values }
                    }
                }
                var statistics = try WireWriter().write(
                    snapshot, createdAt: createdAt, to: sink, omittingRecords: !rendersRecords,
                    omittedCollections: rows?.omittedCollections ?? [], recordEnded: rows?.recordEnded)
                for more in try rows?.renderChanged(snapshot, in: folder) ?? [] { statistics.add(more) }
                try FaultInjection.reached("records.rendered")
                return (try RecordFacts(of: snapshot), InexactValues(statistics))
            }
            placeholderExport =
                unknown?.areThere == true ? try Self.placeholderExport(of: copied, in: folder, createdAt: createdAt) : nil
            try aside.wait()
            let export = try SpoolFile(consuming: exportPath)
            collections = sink.collections.map { ($0.name, export.part($0.range)) }
            self.export = export
            if checksDatabase, damage == nil, let rows, rows.takesRows {
                refused = try RefusedValues(of: copied, only: rows.rowsToCheck(facts.definition, collections))
            } else {
                refused = found.withLock { $0 }
            }
        } catch {
            // The check reads the copy, which is about to be removed.
            aside.fail(error)
            try? aside.wait()
            // The user knows the app's database, not the copy.
            throw error.path == databasePath ? error.with(path: database.path) : error
        }
        try FileSystem.removeFile(databasePath)
        schema = ExportSchema(facts.definition).json.prettyText
        self.database = copy
    }

    private static func placeholderExport(
        of database: AppDatabase, in folder: String, createdAt: Timestamp
    ) throws(BackupError) -> (SpoolFile, ChecksumPlaceholders)? {
        guard let media = database.media else { return nil }
        let placeholders = ChecksumPlaceholders(media)
        let path = "\(folder)/archive.json"
        let sink = DescriptorSink(try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL))
        try AppDatabase(at: database.path, definition: database.definition, media: placeholders).readSnapshot {
            (snapshot) throws(BackupError) in
            _ = try WireWriter().write(snapshot, createdAt: createdAt, to: sink)
        }
        let text = try SpoolFile(consuming: path)
        return placeholders.areUsed && text.size <= archiveExportLimitBytes ? (text, placeholders) : nil
    }

    /// A database's page size.
    static func pageSizeBytes(of database: SpoolFile) throws(BackupError) -> Int {
        try SQLiteHeader(of: database)?.pageSizeBytes ?? 4_096
    }
}

extension AppRendering {
    /// The export is assembled in memory. A larger one contains only the checksums that are known.
    private static let archiveExportLimitBytes: UInt64 = 16 << 20

    /// The export in `live/archive.zip`, for an app whose export lists its media, with the checksums of all files, including
    /// those without a backup. These files are read when the archive is read, not when it is listed: its size is known without
    /// that (decision 26).
    func archiveExport(_ media: LiveMediaView) -> ContentPiece? {
        placeholderExport.map { text, placeholders in
            let export = MadeBytes(isKept: true) { () throws(BackupError) in
                var bytes = try text.bytes(at: 0, upTo: Int(text.size))
                guard bytes.count == Int(text.size) else {
                    throw BackupError(.inputOutput, "a live file became shorter while it was read")
                }
                try placeholders.replace(in: &bytes) { (path) throws(BackupError) in
                    guard let entry = try media.entry(at: ["media"] + BytePath.components(of: path)), entry.kind == .file else {
                        throw BackupError(
                            .inputOutput, "a media file went while the archive was read", path: MessageText.name(path),
                            remedy: "Read the archive again.")
                    }
                    return try entry.content.checksums()
                }
                return bytes
            }
            return .source(export, offset: 0, length: text.size)
        }
    }
}
