import BackupCore
import SystemIO

/// Tells whether a folder's list of names may have changed, at the price of one stat(2).
struct FolderStamp: Equatable, Sendable {
    /// File systems count time in steps (4 ms here, up to 2 s elsewhere): a change within the same step as the one before it leaves
    /// no trace. A folder that changed just before it was read is therefore read again next time.
    private static let granularitySeconds: Int64 = 2

    private let inode: UInt64
    private let modificationTime: Timestamp
    private let changeTime: Timestamp
    private let isTrustworthy: Bool

    init(path: String) throws(BackupError) {
        let status = try FileSystem.status(path)
        inode = status.inode
        modificationTime = status.modificationTime
        changeTime = status.changeTime
        isTrustworthy = status.changeTime.seconds + Self.granularitySeconds < SystemClock.systemTime().seconds
    }

    /// Whether what was read when this stamp was taken still stands when `later` was taken.
    func covers(_ later: FolderStamp) -> Bool {
        isTrustworthy && inode == later.inode && modificationTime == later.modificationTime && changeTime == later.changeTime
    }
}
