import BackupCore
import BackupRepository

/// A backup that was made for `mkdir`.
public struct MadeSnapshot: Sendable {
    public let id: SnapshotID
    /// What it lacks: the backup is there and listed, but the user must not take it for whole. `nil` when nothing is missing.
    public let incompleteness: BackupError?

    public init(id: SnapshotID, incompleteness: BackupError? = nil) {
        self.id = id
        self.incompleteness = incompleteness
    }
}
