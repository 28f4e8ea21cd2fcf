import BackupCore
import Glibc
import SystemIO

/// The folder to mount on: checked, and cleared of mounts left by crashes.
public enum Mountpoint {
    /// Ensures that `path` can be mounted on. A mount of this program whose process has died is removed first.
    /// - Returns: the absolute path without symbolic links.
    /// - Throws: `notFound`, `notADirectory`, `busy` (a live mount is there), `notEmpty`, `accessDenied`.
    public static func prepare(_ path: String, options: MountOptions = MountOptions()) throws(BackupError) -> String {
        let mountpoint = Unmounter.resolvedPath(path)
        try clearStaleMounts(mountpoint, options)
        var value = stat()
        if stat(mountpoint, &value) == -1 {
            guard errno == ENOENT else { throw SystemCall.error(errno, action: "use the mountpoint", path: path) }
            throw BackupError(
                .notFound, "the mountpoint is not there", path: path, remedy: "Make it with `mkdir -p \(path)`.")
        }
        guard value.st_mode & S_IFMT == S_IFDIR else {
            throw BackupError(.notADirectory, "the mountpoint is not a folder", path: path, remedy: "Name an empty folder.")
        }
        let entry = try MountTable.current().entry(at: mountpoint)
        if let entry, entry.isFUSE {
            if entry.fileSystemType == options.fileSystemType {
                throw BackupError(
                    .busy, "backupfs is mounted here already", path: path, remedy: "`backupfs umount \(path)` unmounts it.")
            }
            throw BackupError(
                .busy, "a file system of type \(entry.fileSystemType) is mounted here", path: path,
                remedy: "Unmount it or name another folder.")
        }
        if geteuid() != 0, access(mountpoint, W_OK) != 0 {
            throw BackupError(
                .accessDenied, "a user can mount only on a folder that they can write to", path: path,
                remedy: "Name a folder of your own, or mount as root.")
        }
        // Opening the folder of an automount waits for the very mount that is being created here. It is always empty.
        if entry?.fileSystemType == "autofs" { return mountpoint }
        if !options.allowsNonEmptyMountpoint, try !DirectoryReader(path: mountpoint).names().isEmpty {
            throw BackupError(
                .notEmpty, "the mountpoint is not empty: what is in it would be hidden", path: path,
                remedy: "Name an empty folder, or mount with `-o nonempty`.")
        }
        return mountpoint
    }

    /// After crashes, several dead mounts may be stacked.
    private static func clearStaleMounts(_ mountpoint: String, _ options: MountOptions) throws(BackupError) {
        for _ in 0..<16 {
            guard let entry = try MountTable.current().entry(at: mountpoint), entry.isFUSE, isDead(mountpoint) else { return }
            guard entry.fileSystemType == options.fileSystemType else {
                throw BackupError(
                    .busy, "a dead mount of type \(entry.fileSystemType) is here", path: mountpoint,
                    remedy: "Take it away with `fusermount3 -u -z \(mountpoint)` or `umount -l \(mountpoint)`.")
            }
            try Unmounter.detach(mountpoint, lazily: true)
        }
    }

    /// Whether no process serves a FUSE mount any more. Unlike attributes, the free space is never answered from the kernel's cache.
    private static func isDead(_ mountpoint: String) -> Bool {
        var status = stat()
        if stat(mountpoint, &status) == -1, errno == ENOTCONN || errno == ECONNABORTED { return true }
        var space = statvfs()
        return statvfs(mountpoint, &space) == -1 && (errno == ENOTCONN || errno == ECONNABORTED)
    }
}
