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
    /// - Throws: `notFound` when no mount of this program is there, `busy` when files in it are open, `notPermitted` when it
    ///   belongs to another user.
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
        let result = try Subprocess.run(program, ["-u"] + (lazily ? ["-z"] : []) + ["--", mountpoint])
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

/// Whether this machine allows this user to mount, checked in advance, so that the message can say what to do.
public enum FUSEAvailability {
    /// - Throws: `notSupported` or `accessDenied`, with a remedy.
    public static func check(_ options: MountOptions = MountOptions()) throws(BackupError) {
        try checkDevice("/dev/fuse")
        guard geteuid() != 0 else { return }
        guard fusermountPath() != nil else { throw missingFusermount }
        if options.allowsOthers || options.allowsRoot { try checkConfiguration("/etc/fuse.conf") }
    }

    static func checkDevice(_ device: String) throws(BackupError) {
        let number = open(device, O_RDWR | O_CLOEXEC)
        if number >= 0 {
            close(number)
            return
        }
        switch errno {
        case ENOENT, ENODEV, ENXIO:
            throw BackupError(
                .notSupported, "this machine has no FUSE", path: device,
                remedy: """
                    Load it with `modprobe fuse`, as root; in a container, start that with --device /dev/fuse and \
                    --cap-add SYS_ADMIN.
                    """)
        case EACCES, EPERM:
            throw BackupError(
                .accessDenied, "this user may not use FUSE", path: device,
                remedy: "Let root run `chmod 666 \(device)`, or install the package fuse3, which sees to it.")
        case let failure:
            throw SystemCall.error(failure, action: "open the FUSE device", path: device)
        }
    }

    /// Users other than root may give access to other users only if root allows it.
    static func checkConfiguration(_ path: String) throws(BackupError) {
        let bytes = (try? FileSystem.readFile(path, limitBytes: 1 << 20)) ?? []
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        // As in fusermount3: a # starts a comment, also after the word.
        let isAllowed = lines.contains { line in line.prefix { $0 != "#" }.filter { !$0.isWhitespace } == "user_allow_other" }
        guard isAllowed else {
            throw BackupError(
                .notPermitted, "allow_other and allow_root are not allowed for users on this machine", path: path,
                remedy: "Let root add the line `user_allow_other` to it, or mount without these options.")
        }
    }

    /// The path of libfuse's setuid helper; it does for a user what mount(2) and umount(2) do for root.
    static func fusermountPath() -> String? {
        let folders =
            ["/usr/bin", "/bin"] + (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").map(String.init)
        return folders.map { "\($0)/fusermount3" }.first { $0.hasPrefix("/") && access($0, X_OK) == 0 }
    }

    static var missingFusermount: BackupError {
        BackupError(
            .notSupported, "the program fusermount3, which lets a user mount, is not installed",
            remedy: "Install the package fuse3, or mount as root.")
    }
}
