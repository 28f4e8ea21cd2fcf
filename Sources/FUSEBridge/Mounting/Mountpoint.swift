import BackupCore
import CLinux
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
                .notFound, "the mountpoint does not exist", path: path, remedy: "Make it with `mkdir -p \(path)`.")
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
        if !options.allowsNonEmptyMountpoint, try !DirectoryHandle(path: mountpoint).names().isEmpty {
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

    /// Whether no process serves a FUSE mount any more. Unlike attributes, the free space is never answered from the kernel's
    /// cache.
    private static func isDead(_ mountpoint: String) -> Bool {
        var status = stat()
        if stat(mountpoint, &status) == -1, errno == ENOTCONN || errno == ECONNABORTED { return true }
        var space = statvfs()
        return statvfs(mountpoint, &space) == -1 && (errno == ENOTCONN || errno == ECONNABORTED)
    }
}

extension MountTable {
    /// The mount of this program that a path is in; `nil` for a path in another file system.
    /// - Parameter path: absolute, without symbolic links.
    public func ownEntry(holding path: String) -> Entry? {
        entry(holding: path).flatMap { $0.fileSystemType == MountOptions().fileSystemType ? $0 : nil }
    }

    /// The mounts of this program; see `entries(ofType:)`.
    public var ownEntries: [Entry] { entries(ofType: MountOptions().fileSystemType) }
}

/// The process that serves a mount, and its store, as reported by the mount's root. Queried before unmounting.
public struct MountServer: Sendable {
    /// `nil` if there was no answer: the mount hangs, does not allow this user, or belongs to an older program.
    public let process: ProcessMark?
    /// Absolute; `nil` in the same cases.
    public let storePath: String?
    /// Whether the process no longer exists: the mount is dead.
    public let isDead: Bool
    /// As below `/sys/class/bdi`.
    private let device: String
    private let userID: UInt32?

    private static let answerNanoseconds: UInt64 = 5_000_000_000

    /// - Parameter path: the mountpoint.
    /// - Returns: `nil` when no mount of this program is there.
    /// - Throws: errors of reading the table of mounts.
    public static func of(_ path: String) throws(BackupError) -> MountServer? {
        let mountpoint = Unmounter.resolvedPath(path)
        guard let entry = try MountTable.current().entry(at: mountpoint), entry.fileSystemType == MountOptions().fileSystemType
        else { return nil }
        return MountServer(entry)
    }

    private init(_ entry: MountTable.Entry) {
        let answer = Self.ask(entry)
        process = answer?.process.flatMap { ProcessMark(parsing: $0) }
        storePath = answer?.store
        isDead = answer?.number == ENOTCONN
        device = "\(entry.major):\(entry.minor)"
        userID = entry.userID
    }

    /// Whether it is possible to wait for its process. The process ID that the mount reports
    /// is not trusted by itself: the process must belong to the user who mounted it.
    public var isWaitable: Bool {
        guard let process, process.isOfHere else { return false }
        return process.hasEnded || userID == nil || process.userID == userID
    }

    /// Whether the mount still exists: in another mount namespace (a container), or because it was unmounted lazily. `nil` if
    /// that is unknown.
    public var livesOn: Bool? {
        guard (try? FileSystem.exists("/sys/class/bdi")) == true else { return nil }
        return (try? FileSystem.exists("/sys/class/bdi/\(device)")) ?? nil
    }

    private struct Answer: Sendable {
        var process: String?
        var store: String?
        /// The errno of the first query.
        var number: Int32 = 0
    }

    /// Queries from a child process, which is killed when no answer comes: a process that waits for a hanging mount keeps it
    /// busy, and only SIGKILL wakes it.
    private static func ask(_ entry: MountTable.Entry) -> Answer? {
        guard let pipe = try? SystemIO.Pipe() else { return nil }
        // A mount without allow_other answers only the user who mounted it, not even root.
        let user = geteuid() == 0 ? entry.userID ?? 0 : 0
        let child = backupfs_read_attributes_in_child(
            entry.path, "user.backupfs.process", "user.backupfs.store", user, entry.groupID ?? user, pipe.writer.rawValue)
        guard child > 0 else { return nil }
        let reader = pipe.takeReader()
        var answer = Answer()
        let deadline = SystemClock.monotonicNanoseconds() + answerNanoseconds
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let now = SystemClock.monotonicNanoseconds()
            var waiting = pollfd(fd: reader.rawValue, events: Int16(POLLIN), revents: 0)
            guard now < deadline, poll(&waiting, 1, Int32((deadline - now) / 1_000_000) + 1) > 0 else { break }
            let count = buffer.withUnsafeMutableBytes { Glibc.read(reader.rawValue, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        kill(child, SIGKILL)
        reap(child)
        var rest = bytes[...]
        answer.process = next(&rest, &answer.number)
        var number: Int32 = 0
        answer.store = next(&rest, &number)
        return answer
    }

    /// The kernel may not release it immediately.
    private static func reap(_ child: pid_t) {
        for _ in 0..<200 {
            var status: Int32 = 0
            if waitpid(child, &status, WNOHANG) != 0 { return }
            usleep(5_000)
        }
    }

    /// Takes one value off the child's output.
    private static func next(_ bytes: inout ArraySlice<UInt8>, _ number: inout Int32) -> String? {
        let headBytes = MemoryLayout<Int>.size
        guard bytes.count >= headBytes else { return nil }
        let length = bytes.prefix(headBytes).withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
        bytes = bytes.dropFirst(headBytes)
        guard length >= 0 else {
            number = Int32(clamping: -length)
            return nil
        }
        guard bytes.count >= length else { return nil }
        defer { bytes = bytes.dropFirst(length) }
        return String(validating: bytes.prefix(length), as: UTF8.self)
    }
}
