import BackupCore

/// Detects whether a folder's list of names may have changed, at the cost of one stat(2).
public struct FolderStamp: Equatable, Sendable {
    private let inode: UInt64
    private let modificationTime: Timestamp
    private let changeTime: Timestamp
    /// A folder that changed just before it was read may have changed again without a trace: read it again next time.
    private let isSettled: Bool

    public init(path: String) throws(BackupError) { self.init(try FileSystem.status(path)) }

    /// - Parameter status: current; the caller lists the folder only after it got the status.
    public init(_ status: FileStatus) {
        inode = status.inode
        modificationTime = status.modificationTime
        changeTime = status.changeTime
        isSettled = status.isSettled
    }

    /// Whether a listing from the time of this stamp is still valid at the time of `later`.
    public func covers(_ later: FolderStamp) -> Bool {
        isSettled && inode == later.inode && modificationTime == later.modificationTime && changeTime == later.changeTime
    }
}
