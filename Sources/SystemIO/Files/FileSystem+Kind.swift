import BackupCore
import CLinux
import Glibc

/// What kind of file system something lies on.
extension FileSystem {
    /// Kinds (statfs(2), `f_type`) that several machines may have mounted at once, or that a program serves: what one machine does there, the
    /// memory mapped files and locks of another do not see.
    private static let sharedKinds: Set<UInt32> = [
        0x6969,  // NFS
        0x517B, 0xFE53_4D42, 0xFF53_4D42,  // SMB, SMB2, CIFS
        0x6573_5546,  // FUSE: sshfs, rclone, mergerfs, virtiofs and others
        0x0102_1997,  // 9p
        0x00C3_6400,  // Ceph
        0x5346_414F, 0x6B41_4653,  // AFS
        0x7375_7245,  // Coda
        0x0116_1970,  // GFS2
        0x7461_636F,  // OCFS2
        0x0BD0_0BD0,  // Lustre
        0x4750_4653,  // GPFS
        0x1983_0326,  // BeeGFS
        0x786F_4256,  // VirtualBox
        0x7C7C_6673,  // Parallels
        0xBACB_ACBC,  // VMware
    ]

    /// Whether other machines may use the file system as well. Of what is not there yet, the nearest folder above counts.
    public static func isShared(_ path: String) -> Bool {
        var path = absolutePath(path)
        while true {
            let kind = backupfs_file_system_kind(path)
            if kind >= 0 { return sharedKinds.contains(UInt32(truncatingIfNeeded: kind)) }
            guard errno == ENOENT || errno == ENOTDIR, path != "/" else { return false }
            path = parentPath(path)
        }
    }

    /// Whether the medium is mounted read-only: then this machine does not change it.
    public static func isReadOnly(_ path: String) -> Bool {
        var value = statvfs()
        guard SystemCall.retrying({ statvfs(path, &value) }) == 0 else { return false }
        return value.f_flag & UInt(ST_RDONLY) != 0
    }
}
