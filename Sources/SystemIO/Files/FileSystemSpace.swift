import Glibc

/// The result of statvfs(3) for a file system.
public struct FileSystemSpace: Sendable {
    public let blockSizeBytes: UInt64
    public let blockCount: UInt64
    public let freeBlockCount: UInt64
    /// Free blocks for users other than root.
    public let availableBlockCount: UInt64
    public let fileCount: UInt64
    public let freeFileCount: UInt64
    /// `f_fsid`: on most file systems a number that does not change; 0 where there is none.
    public let fileSystemID: UInt64

    init(_ value: statvfs) {
        blockSizeBytes = UInt64(value.f_frsize)
        blockCount = UInt64(value.f_blocks)
        freeBlockCount = UInt64(value.f_bfree)
        availableBlockCount = UInt64(value.f_bavail)
        fileCount = UInt64(value.f_files)
        freeFileCount = UInt64(value.f_ffree)
        fileSystemID = UInt64(value.f_fsid)
    }

    public var availableBytes: UInt64 { availableBlockCount * blockSizeBytes }
}
