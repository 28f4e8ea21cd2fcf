import BackupCore
import BackupRepository

/// A backup that was made for `mkdir`.
public struct MadeSnapshot: Sendable {
    public let id: SnapshotID
    /// What it lacks, or that it has another name than was asked for: the backup is there and listed, but the user must not take it for what was asked
    /// for. `nil` when all is as it should be.
    public let incompleteness: BackupError?

    public init(id: SnapshotID, incompleteness: BackupError? = nil) {
        self.id = id
        self.incompleteness = incompleteness
    }
}
