import BackupCore
import CLinux
import Glibc

/// The machine, its boot and this process: used to decide whether the author of a note still runs.
public enum HostIdentity {
    /// The machine's name; empty when it has none.
    public static let hostName: String = {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// A number that changes with each boot; all containers of a machine share it. Empty where there is none.
    public static let bootID = firstLine("/proc/sys/kernel/random/boot_id")

    /// The permanent number of an installation; empty where there is none.
    public static let machineID = firstLine("/etc/machine-id")

    /// The PID of this process.
    public static var processID: Int32 { getpid() }

    /// The start time of a process, in ticks since boot. Together with the PID it identifies a process until the next boot.
    /// - Returns: `nil` when there is no such process.
    public static func startTicks(of process: Int32) -> UInt64? {
        guard let fields = statusFields(of: process) else { return nil }
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }

    /// The words of `/proc/PID/stat` after the name: state, parent, group, …; the 20th is the start time.
    /// - Returns: `nil` when there is no such process.
    static func statusFields(of process: Int32) -> [Substring]? {
        guard let bytes = try? FileSystem.readVirtualFile("/proc/\(process)/stat", limitBytes: 4096) else { return nil }
        // The name in parentheses may contain anything, so fields are counted from the last parenthesis.
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split(separator: " ")
    }

    /// The PID namespace (container) of this process's PID; empty where it is unknown.
    public static let processNamespace: String = {
        var value = stat()
        return stat("/proc/self/ns/pid", &value) == 0 ? "\(value.st_ino)" : ""
    }()

    /// Whether a process of this PID namespace has ended. If unknown, it is treated as running.
    public static func hasEnded(_ process: Int32, startTicks: UInt64) -> Bool {
        guard process > 0 else { return true }
        if kill(process, 0) == -1, errno == ESRCH { return true }
        // The PID may have been reused.
        guard let ticks = self.startTicks(of: process) else { return false }
        return ticks != startTicks
    }

    /// When the kernel booted, by the current clock.
    public static var bootTime: Timestamp {
        var now = timespec()
        var uptime = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &uptime)
        return Timestamp(seconds: Int64(now.tv_sec - uptime.tv_sec))
    }

    private static func firstLine(_ path: String) -> String {
        guard let bytes = try? FileSystem.readVirtualFile(path, limitBytes: 4096) else { return "" }
        return String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
    }
}

/// Identifies a process for programs that only read about it: its PID and start time, and the namespace and boot that they belong
/// to.
public struct ProcessMark: Hashable, Sendable {
    /// The PID.
    public let process: Int32
    /// In ticks since the kernel started.
    private let startTicks: UInt64
    /// The PID namespace (the container) of the PID.
    private let namespace: String
    private let bootID: String

    /// This process.
    public static var current: ProcessMark {
        ProcessMark(
            process: HostIdentity.processID, startTicks: HostIdentity.startTicks(of: HostIdentity.processID) ?? 0,
            namespace: HostIdentity.processNamespace, bootID: HostIdentity.bootID)
    }

    private init(process: Int32, startTicks: UInt64, namespace: String, bootID: String) {
        self.process = process
        self.startTicks = startTicks
        self.namespace = namespace
        self.bootID = bootID
    }

    /// `1234 56789 4026531836 BOOT-ID`.
    public var text: String { "\(process) \(startTicks) \(namespace) \(bootID)" }

    /// - Returns: `nil` for an invalid mark.
    public init?(parsing text: String) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count == 4, let process = Int32(fields[0]), process > 0, let startTicks = UInt64(fields[1]) else {
            return nil
        }
        self.init(process: process, startTicks: startTicks, namespace: String(fields[2]), bootID: String(fields[3]))
    }

    /// Whether the PID means the same process here: after another boot, and in another container, it is a different process.
    public var isOfHere: Bool {
        !bootID.isEmpty && bootID == HostIdentity.bootID && !namespace.isEmpty && namespace == HostIdentity.processNamespace
    }

    /// Whether it has ended. If unknown, it is treated as running.
    public var hasEnded: Bool { HostIdentity.hasEnded(process, startTicks: startTicks) }

    /// The user who runs it; `nil` when it has ended, or `/proc` does not say.
    public var userID: UInt32? {
        guard let bytes = try? FileSystem.readVirtualFile("/proc/\(process)/status", limitBytes: 4096), !hasEnded else {
            return nil
        }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Uid:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { UInt32($0) }
    }
}

/// A process to wait for. Its PID may be reused as soon as it ends, so the wait is on a descriptor of the process itself.
public struct AwaitedProcess: ~Copyable {
    private let mark: ProcessMark
    /// Negative where the kernel returns none (before 5.3, or in a sandbox): then the PID and the start time are polled.
    private let descriptor: Int32

    /// - Parameter mark: of a process of this boot and PID namespace.
    public init(_ mark: ProcessMark) {
        self.mark = mark
        descriptor = backupfs_open_process(mark.process)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Returns: whether it has ended.
    public borrowing func hasEnded(withinMilliseconds limit: Int32) -> Bool {
        // Also when the descriptor is of another process that reused the PID before the open.
        if mark.hasEnded { return true }
        guard descriptor >= 0 else {
            usleep(UInt32(limit) * 1_000)
            return mark.hasEnded
        }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, limit) > 0
    }
}

/// The process of a thread.
public enum ProcessIdentity {
    /// The process (thread group) of a thread, from `/proc/ID/status`. FUSE names the thread that made a request, and a program
    /// may open a file in one thread and close it in another.
    /// - Returns: `thread` itself where it is none, as for a process of another PID namespace; `nil` when unknown: `/proc` hides
    ///   the threads of other users (`hidepid`) or is not mounted, or the thread is gone.
    public static func process(ofThread thread: Int32) -> Int32? {
        guard thread > 0 else { return thread }
        guard let file = fopen("/proc/\(thread)/status", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("Tgid:"), let number = Int32(text.dropFirst(5).filter(\.isNumber)) { return number }
        }
        return nil
    }
}

/// Pending signals of another process.
public enum ProcessSignals {
    private static let ending: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL]

    /// Whether a thread of another process has a pending signal that asks it to end, which it cannot handle while it is blocked
    /// in the kernel.
    /// - Returns: false where that is not visible: in a separate namespace, or with `hidepid`.
    public static func endProcess(_ thread: Int32) -> Bool {
        guard thread > 0, let text = try? FileSystem.readVirtualFile("/proc/\(thread)/status") else { return false }
        var pending: UInt64 = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            // `SigPnd:	0000000000000100`: bit 0 is signal 1. Signals of the thread and of its process.
            guard line.starts(with: "SigPnd:".utf8) || line.starts(with: "ShdPnd:".utf8) else { continue }
            let digits = String(decoding: line.dropFirst("SigPnd:\t".utf8.count), as: UTF8.self)
            pending |= UInt64(digits, radix: 16) ?? 0
        }
        return ending.contains { pending & (1 << UInt64($0 - 1)) != 0 }
    }
}
