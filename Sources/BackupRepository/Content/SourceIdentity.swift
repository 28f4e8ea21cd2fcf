import BackupCore

/// What identifies, besides size and modification time, a file of the app as unchanged since its backup, so that it need not be read again.
public struct SourceIdentity: Hashable, Sendable {
    public let inode: UInt64
    public let changeTime: Timestamp

    public init(inode: UInt64, changeTime: Timestamp) {
        self.inode = inode
        self.changeTime = changeTime
    }
}
