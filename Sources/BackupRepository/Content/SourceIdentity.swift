import BackupCore

/// What tells, besides size and modification time, that a file of the app is still the one that was backed up: then it
/// need not be read again.
public struct SourceIdentity: Hashable, Sendable {
    public let inode: UInt64
    public let changeTime: Timestamp

    public init(inode: UInt64, changeTime: Timestamp) {
        self.inode = inode
        self.changeTime = changeTime
    }
}
