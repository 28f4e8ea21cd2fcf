import AppData
import Export

/// A dropped file that was checked whole and can be restored.
public struct CheckedImport: Sendable {
    enum Records: Sendable {
        case wire(WireReader)
        case database(DroppedDatabase)
        /// Not the records alone: the whole database.
        case whole(DroppedDatabase)
    }

    public let format: DroppedFormat
    public let summary: ImportSummary
    let records: Records
    let archive: ArchiveImport?

    /// Everything that should be said, though it does not stop a restore.
    public var warnings: [String] { summary.warnings + (archive?.warnings ?? []) }
}
