import AppData
import BackupCore
import Export

/// A dropped file that was checked whole and can be restored.
public struct CheckedImport: Sendable {
    enum Records: Sendable {
        case wire(PlacedRecords)
        case database(DroppedDatabase)
        /// Not the records alone: the whole database.
        case whole(DroppedDatabase)
    }

    public let format: DroppedFormat
    /// What is to become of the data that is there.
    public let strategy: ImportStrategy
    public let summary: ImportSummary
    let records: Records
    let archive: ArchiveImport?
    /// Of a backup's own archive: the rows of its database.
    var rows: BackupRows?
    /// Whether the lost database, which is made of the backup's, has these records already, and they stay as they are.
    var staysInRecreation = false
    /// What was found of the archive's media.
    var mediaWarnings: [Message] = []
    /// The media of the backup, with what no archive holds of them; `nil` where they do not take the place of all that is there.
    var storedMedia: StoredMedia?
    /// How many files the backup lacks, because they could not be read when it was made.
    public internal(set) var unreadFileCount = 0
    /// What is to be said of the database that the records go into, and of the one that rows were to be copied from.
    var databaseWarnings: [Message] = []

    /// What is damaged or missing and was left out on demand, each with the reason.
    public var leftOut: [Message] { archive?.leftOut ?? [] }

    /// Whether it says what the media folder is to hold.
    public var hasMedia: Bool { archive?.hasMedia ?? false }

    /// Whether records name files elsewhere than in the backup.
    var movesFiles: Bool {
        guard case .wire(let source) = records else { return false }
        return !source.paths.isEmpty
    }

    /// The app's, in the form that the file has.
    var definition: AppDefinition {
        switch records {
        case .wire(let source): source.definition
        case .database(let source), .whole(let source): source.definition
        }
    }

    /// Everything that should be said, though it does not stop a restore.
    public var warnings: [Message] {
        summary.warnings + (archive?.warnings ?? []) + mediaWarnings + databaseWarnings
            + (unexported.map { [$0.restoreWarning] } ?? [])
    }

    /// What lies in a database and is no part of its records.
    private var unexported: UnexportedData? {
        guard rows == nil, case .database(let source) = records else { return nil }
        return source.unexported
    }
}
