import BackupCore
import Glibc
import SystemIO

/// Ends a mount from outside the process that serves it.
public enum Unmounter {
    /// Unmounts a backupfs mount. The process that serves it then ends by itself, a little later.
    /// - Parameters:
    ///   - path: the mountpoint.
    ///   - lazily: detaches the mount from the tree immediately, even while files in it are open; those end with their programs.
    ///   - fileSystemType: only a mount of this type is unmounted.
    /// - Throws: `notFound` when no mount of this program is there, `busy` when files in it are open, `notPermitted` when it belongs to another user.
    public static func unmount(
        _ path: String, lazily: Bool = false, fileSystemType: String = MountOptions().fileSystemType
    ) throws(BackupError) {
        let mountpoint = resolvedPath(path)
        guard let entry = try MountTable.current().entry(at: mountpoint) else {
            throw BackupError(
                .notFound, "nothing is mounted here", path: path, remedy: "`mount -t \(fileSystemType)` lists the mounts.")
        }
        guard entry.fileSystemType == fileSystemType else {
            throw BackupError(
                .notFound, "this is a mount of type \(entry.fileSystemType), not one of backupfs", path: path,
                remedy: "Use umount or the program that mounted it.")
        }
        try detach(mountpoint, lazily: lazily)
    }

    /// The path as in the table of mounts. A dead mount cannot be queried for its own path, but its parent folder can.
    static func resolvedPath(_ path: String) -> String {
        var trimmed = path
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        if let resolved = realPath(trimmed) { return resolved }
        let absolute = FileSystem.absolutePath(trimmed)
        guard let parent = realPath(FileSystem.parentPath(absolute)) else { return absolute }
        return (parent == "/" ? "" : parent) + "/" + FileSystem.lastComponent(absolute)
    }

    /// - Parameter mountpoint: resolved.
    static func detach(_ mountpoint: String, lazily: Bool) throws(BackupError) {
        // MNT_DETACH and UMOUNT_NOFOLLOW of umount2(2).
        if umount2(mountpoint, (lazily ? 2 : 0) | 8) == 0 { return }
        switch errno {
        case EPERM: try detachAsUser(mountpoint, lazily: lazily)
        case EBUSY: throw busy(mountpoint)
        case EINVAL: throw BackupError(.notFound, "nothing is mounted here", path: mountpoint)
        case let number: throw SystemCall.error(number, action: "unmount", path: mountpoint)
        }
    }

    private static func detachAsUser(_ mountpoint: String, lazily: Bool) throws(BackupError) {
        guard let program = FUSEAvailability.fusermountPath() else { throw FUSEAvailability.missingFusermount }
        let result = try HelperProgram.run(program, ["-u"] + (lazily ? ["-z"] : []) + ["--", mountpoint])
        if result.exitCode == 0 { return }
        if result.message.contains("busy") { throw busy(mountpoint) }
        let lines = result.message.split(separator: "\n")
        let reason: Message = lines.first.map { .verbatim(String($0)) } ?? "fusermount3 ended with exit code \(result.exitCode)"
        throw BackupError(
            .notPermitted, "could not unmount: \(reason)", path: mountpoint,
            remedy: "Only the user who mounted it, or root, can unmount it.")
    }

    private static func busy(_ mountpoint: String) -> BackupError {
        BackupError(
            .busy, "a program has files open in it, or its current folder there", path: mountpoint,
            remedy: "`lsof +f -- \(mountpoint)` shows which; close it and try again.")
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
