import BackupCore
import SystemIO

/// Tells whether a folder's list of names may have changed, at the price of one stat(2).
struct FolderStamp: Equatable, Sendable {
    private let inode: UInt64
    private let modificationTime: Timestamp
    private let changeTime: Timestamp
    /// A folder that changed just before it was read may have changed again without a trace: it is read again next time.
    private let isSettled: Bool

    init(path: String) throws(BackupError) {
        let status = try FileSystem.status(path)
        inode = status.inode
        modificationTime = status.modificationTime
        changeTime = status.changeTime
        isSettled = status.isSettled
    }

    /// Whether what was read when this stamp was taken still stands when `later` was taken.
    func covers(_ later: FolderStamp) -> Bool {
        isSettled && inode == later.inode && modificationTime == later.modificationTime && changeTime == later.changeTime
    }
}
