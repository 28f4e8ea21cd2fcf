import BackupCore

/// Tells whether a folder's list of names may have changed, at the price of one stat(2).
public struct FolderStamp: Equatable, Sendable {
    private let inode: UInt64
    private let modificationTime: Timestamp
    private let changeTime: Timestamp
    /// A folder that changed just before it was read may have changed again without a trace: it is read again next time.
    private let isSettled: Bool

    public init(path: String) throws(BackupError) { self.init(try FileSystem.status(path)) }

    /// - Parameter status: of now: whoever lists the folder does so after it was asked for.
    public init(_ status: FileStatus) {
        inode = status.inode
        modificationTime = status.modificationTime
        changeTime = status.changeTime
        isSettled = status.isSettled
    }

    /// Whether what was read when this stamp was taken still stands when `later` was taken.
    public func covers(_ later: FolderStamp) -> Bool {
        isSettled && inode == later.inode && modificationTime == later.modificationTime && changeTime == later.changeTime
    }
}
