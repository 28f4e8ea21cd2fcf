import AppData
import BackupCore
import Export

/// A dropped file that was fully checked and can be restored.
public struct CheckedImport: Sendable {
    enum Records: Sendable {
        case wire(PlacedRecords)
        case database(DroppedDatabase)
        /// Not just the records: the whole database.
        case whole(DroppedDatabase)
    }

    public let format: DroppedFormat
    /// What to do with the existing data.
    public let strategy: ImportStrategy
    public let summary: ImportSummary
    let records: Records
    let archive: ArchiveImport?
    /// For a backup's own archive: the rows of its database.
    var rows: BackupRows?
    /// Whether the lost database, recreated from the backup's database, already has these records, which then stay unchanged.
    var staysInRecreation = false
    /// Warnings about the archive's media.
    var mediaWarnings: [Message] = []
    /// The backup's media, with the metadata that no archive contains; `nil` where they do not replace all existing media.
    var storedMedia: StoredMedia?
    /// The number of files missing from the backup, because they could not be read when it was created.
    public internal(set) var unreadFileCount = 0
    /// Warnings about the database that receives the records, and about the one that rows were to be copied from.
    var databaseWarnings: [Message] = []

    /// Damaged or missing files that were left out on request, each with the reason.
    public var leftOut: [Message] { archive?.leftOut ?? [] }

    /// Whether it defines the content of the media folder.
    public var hasMedia: Bool { archive?.hasMedia ?? false }

    /// Whether records name files at other paths than in the backup.
    var movesFiles: Bool {
        guard case .wire(let source) = records else { return false }
        return !source.paths.isEmpty
    }

    /// The app's definition, in the file's format.
    var definition: AppDefinition {
        switch records {
        case .wire(let source): source.definition
        case .database(let source), .whole(let source): source.definition
        }
    }

    /// All warnings that do not stop a restore.
    public var warnings: [Message] {
        summary.warnings + (archive?.warnings ?? []) + mediaWarnings + databaseWarnings
            + (unexported.map { [$0.restoreWarning] } ?? [])
    }

    /// Data in a database that is not part of its records.
    private var unexported: UnexportedData? {
        guard rows == nil, case .database(let source) = records else { return nil }
        return source.unexported
    }
}
