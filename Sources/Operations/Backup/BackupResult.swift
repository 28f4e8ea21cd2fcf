import BackupRepository

/// What a backup made.
public struct BackupResult: Sendable {
    public let snapshot: Snapshot
    /// What it added to the repository, in bytes.
    public let storedBytes: UInt64
    /// Media files that could not be read, and why; the snapshot lacks them.
    public let unreadable: [String]
}
