import BackupCore
import Glibc

/// The result of stat(2) for a file.
public struct FileStatus: Sendable, Equatable {
    public enum Kind: Sendable { case regular, directory, symbolicLink, other }

    public let kind: Kind
    /// Permission bits and file type, as in `st_mode`.
    public let mode: UInt32
    /// Size in bytes.
    public let size: UInt64
    /// Space on the disk: less than the size for a file with holes.
    public let allocatedBytes: UInt64
    public let modificationTime: Timestamp
    public let changeTime: Timestamp
    public let inode: UInt64
    public let device: UInt64
    public let linkCount: UInt64
    public let owner: UInt32
    public let group: UInt32

    init(_ value: stat) {
        switch value.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        mode = value.st_mode
        size = UInt64(max(0, value.st_size))
        allocatedBytes = UInt64(max(0, value.st_blocks)) &* 512
        modificationTime = Timestamp(value.st_mtim)
        changeTime = Timestamp(value.st_ctim)
        inode = UInt64(value.st_ino)
        device = UInt64(value.st_dev)
        linkCount = UInt64(value.st_nlink)
        owner = value.st_uid
        group = value.st_gid
    }

    public var isSocket: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFSOCK) }

    /// Whether it is the same, unchanged file. Ignores the allocated space, which changes some time after a write without another one.
    public static func == (left: FileStatus, right: FileStatus) -> Bool {
        left.inode == right.inode && left.size == right.size && left.modificationTime == right.modificationTime
            && left.changeTime == right.changeTime && left.mode == right.mode && left.device == right.device
            && left.linkCount == right.linkCount && left.owner == right.owner && left.group == right.group
    }

    /// Whether a later change will show in `changeTime`. File systems count time in steps (4 ms here, up to 2 s elsewhere): the second of two writes
    /// within one step leaves no trace. 0.1 s more, since file systems use a clock that lags.
    public var isSettled: Bool {
        let now = SystemClock.systemTime()
        let seconds = now.seconds &- changeTime.seconds
        guard (2...3).contains(seconds) else { return seconds > 3 }
        return seconds * 1_000_000_000 + Int64(now.nanoseconds) - Int64(changeTime.nanoseconds) > 2_100_000_000
    }
}

extension Timestamp {
    public init(_ value: timespec) {
        self.init(seconds: Int64(value.tv_sec), nanoseconds: UInt32(value.tv_nsec))
    }
}
