import BackupCore
import CLinux
import Glibc
import SystemIO

/// Which process serves a mount, and of which store: the mount's root says it. Asked before the mount is ended.
public struct MountServer: Sendable {
    /// `nil` where nothing was answered: by a mount that stands still, one that does not answer this user, or one of an older program.
    public let process: ProcessMark?
    public let storePath: String?
    /// Whether there is no such process any more: the mount is dead.
    public let isDead: Bool
    /// As below `/sys/class/bdi`.
    private let device: String
    private let userID: UInt32?

    private static let answerNanoseconds: UInt64 = 5_000_000_000

    /// - Parameter path: the mountpoint.
    /// - Returns: `nil` when nothing of ours is mounted there.
    /// - Throws: what reading the table of mounts throws.
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

    /// Whether its process can be waited for. That it is the one that the mount names is not believed alone: it must belong to who has mounted it.
    public var isWaitable: Bool {
        guard let process, process.isOfHere else { return false }
        return process.hasEnded || userID == nil || process.userID == userID
    }

    /// Whether the mount lives on: in another mount namespace (a container), or because it was unmounted lazily. `nil` where that cannot be told.
    public var livesOn: Bool? {
        guard (try? FileSystem.exists("/sys/class/bdi")) == true else { return nil }
        return (try? FileSystem.exists("/sys/class/bdi/\(device)")) ?? nil
    }

    private struct Answer: Sendable {
        var process: String?
        var store: String?
        /// What the first question failed with.
        var number: Int32 = 0
    }

    /// Asks from a child, which is killed when no answer comes: who waits for a mount that stands still keeps it busy, and only being killed wakes him.
    private static func ask(_ entry: MountTable.Entry) -> Answer? {
        guard let pipe = try? SystemIO.Pipe() else { return nil }
        // A mount without allow_other answers nobody but who has mounted it, root neither.
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

    /// The kernel may not let it go at once.
    private static func reap(_ child: pid_t) {
        for _ in 0..<200 {
            var status: Int32 = 0
            if waitpid(child, &status, WNOHANG) != 0 { return }
            usleep(5_000)
        }
    }

    /// Takes one value off what a child has written.
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
