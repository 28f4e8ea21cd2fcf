import BackupCore
import BackupRepository

/// A backup made by `mkdir`.
public struct MadeSnapshot: Sendable {
    public let id: SnapshotID
    /// What the backup lacks, or that it has another name than the requested one: the backup exists and is listed, but it is not exactly what the user
    /// requested. `nil` when nothing is wrong.
    public let incompleteness: BackupError?

    public init(id: SnapshotID, incompleteness: BackupError? = nil) {
        self.id = id
        self.incompleteness = incompleteness
    }
}
