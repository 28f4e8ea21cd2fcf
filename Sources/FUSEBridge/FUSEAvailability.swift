import BackupCore
import Glibc
import SystemIO

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
