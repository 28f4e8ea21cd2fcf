import BackupCore
import CLinux
import Glibc

/// The type of the file system that holds a path.
extension FileSystem {
    /// statfs(2) types of file systems that only this machine writes to.
    private static let ownTypes: Set<UInt32> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x8584_58F6, 0xF2F5_2010, 0x794C_7630, 0x2FC1_2FC1, 0x4D44, 0x2011_BAB0,
        0x7366_746E, 0x5346_544E, 0x482B, 0x4244, 0x9660, 0x7371_7368, 0xCA45_1A4E, 0x3153_464A, 0x5265_4973, 0x3434, 0x1501_3346,
        0xE0F5_E1E2,
    ]

    /// Whether other hosts may write to the file system that holds `path`, so that its locks, times and mapped files may not be this kernel's own. True
    /// except for types known to be local (ext, XFS, btrfs, tmpfs, F2FS, overlay, ZFS, FAT, exFAT, NTFS and similar). For a missing path, the nearest
    /// existing folder above it counts.
    public static func isShared(_ path: String) throws(BackupError) -> Bool {
        var path = absolutePath(path)
        while try !exists(path), path != "/" { path = parentPath(path) }
        var type: UInt32 = 0
        try SystemCall.check("read the kind of file system", path) { backupfs_filesystem_type(path, &type) }
        return !ownTypes.contains(type)
    }

    /// The members of `ownTypes` that store no change time on the disk: FAT, exFAT, HFS.
    private static let typesWithoutChangeTime: Set<UInt32> = [0x4D44, 0x2011_BAB0, 0x4244]
    /// NFS and CephFS: their servers keep the change time.
    private static let sharedTypesWithChangeTime: Set<UInt32> = [0x6969, 0x00C3_6400]

    /// Whether the file system of a descriptor sets a file's change time (`st_ctime`) at each change, as POSIX requires, so that no program can hide a
    /// change. FAT and exFAT have none. SMB and FUSE file systems return what their server makes up; sshfs returns the modification time, which any
    /// program may set back. False for a file system that is not known to keep one.
    public static func keepsChangeTime(_ descriptor: borrowing OwnedDescriptor) -> Bool {
        var type: UInt32 = 0
        guard SystemCall.retrying({ backupfs_filesystem_type_of(descriptor.rawValue, &type) }) == 0 else { return false }
        return sharedTypesWithChangeTime.contains(type) || ownTypes.contains(type) && !typesWithoutChangeTime.contains(type)
    }

    /// Whether the file system is mounted read-only: then this machine does not change it.
    public static func isReadOnly(_ path: String) -> Bool {
        var value = statvfs()
        guard SystemCall.retrying({ statvfs(path, &value) }) == 0 else { return false }
        return value.f_flag & UInt(ST_RDONLY) != 0
    }
}
