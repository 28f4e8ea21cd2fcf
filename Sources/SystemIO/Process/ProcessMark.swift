import BackupCore
import CLinux
import Glibc

/// Identifies a process for programs that only read about it: its PID and start time, and the namespace and boot that they belong to.
public struct ProcessMark: Hashable, Sendable {
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
        guard let bytes = try? FileSystem.readProcFile("/proc/\(process)/status"), !hasEnded else { return nil }
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
