import BackupCore
import Glibc

/// A command's process and all its descendants: a process group that the command leads.
public struct ProcessGroup: Sendable {
    private static let pollMicroseconds: UInt32 = 20_000
    /// How long processes may take to disappear after SIGKILL.
    private static let killSeconds = 2.0

    /// The PID of the leader.
    public let leader: Int32

    init(leader: Int32) { self.leader = leader }

    /// How to find it again: the boot ID, the PID namespace, and the leader with its start time.
    public var record: String {
        "\(HostIdentity.bootID) \(HostIdentity.processNamespace) \(leader) \(HostIdentity.startTicks(of: leader) ?? 0)"
    }

    /// - Parameter record: as another process has written it.
    /// - Returns: `nil` for an invalid record, and for a group that has ended.
    public init?(record: String) {
        let parts = record.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == HostIdentity.bootID, parts[1] == HostIdentity.processNamespace,
            let leader = Int32(parts[2]), leader > 1, let ticks = UInt64(parts[3])
        else { return nil }
        self.init(leader: leader)
        // While a group lives, its leader's PID is not reused.
        guard isAlive, HostIdentity.startTicks(of: leader).map({ $0 == ticks }) ?? true else { return nil }
    }

    /// Whether a process of it runs. A zombie does not count.
    public var isAlive: Bool {
        guard kill(-leader, 0) == 0 || errno == EPERM else { return false }
        guard let names = try? DirectoryHandle(path: "/proc").names() else { return true }
        return names.contains { name in
            guard let process = Int32(String(decoding: name.bytes, as: UTF8.self)),
                let fields = HostIdentity.statusFields(of: process)
            else { return false }
            return fields.count > 2 && fields[2] == "\(leader)" && fields[0] != "Z" && fields[0] != "X"
        }
    }

    func send(_ signal: Int32) { _ = kill(-leader, signal) }

    /// Asks all its processes to end (SIGTERM) and waits; kills the remaining ones with SIGKILL.
    /// - Parameter seconds: how long they may take before SIGKILL.
    public func end(withinSeconds seconds: Double) {
        send(SIGTERM)
        waitForEnd(until: SystemClock.monotonicSeconds() + seconds)
    }

    /// Waits until none of its processes runs.
    /// - Parameter end: when to send SIGKILL, on the monotonic clock.
    func waitForEnd(until end: Double) {
        while isAlive {
            let now = SystemClock.monotonicSeconds()
            if now > end { send(SIGKILL) }
            // A process in uninterruptible sleep (D state) ends when it wakes.
            if now > end + Self.killSeconds { return }
            usleep(Self.pollMicroseconds)
        }
    }
}
