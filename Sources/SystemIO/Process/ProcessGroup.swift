import BackupCore
import Glibc

/// A command's process and all that it has started: a process group, which the command leads.
public struct ProcessGroup: Sendable {
    private static let pollMicroseconds: UInt32 = 20_000
    /// How long processes may take to disappear that were ended by SIGKILL.
    private static let killSeconds = 2.0

    /// The number of the process that leads it.
    public let leader: Int32

    init(leader: Int32) { self.leader = leader }

    /// Where it can be found again: this kernel, this PID namespace, and the leader with its time of start.
    public var record: String {
        "\(HostIdentity.bootID) \(HostIdentity.processNamespace) \(leader) \(HostIdentity.startTicks(of: leader) ?? 0)"
    }

    /// - Parameter record: as another process has noted it.
    /// - Returns: `nil` for what is no record, and for a group that has ended.
    public init?(record: String) {
        let parts = record.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == HostIdentity.bootID, parts[1] == HostIdentity.processNamespace,
            let leader = Int32(parts[2]), leader > 1, let ticks = UInt64(parts[3])
        else { return nil }
        self.init(leader: leader)
        // While a group lives, its leader's number is given to no other process.
        guard isAlive, HostIdentity.startTicks(of: leader).map({ $0 == ticks }) ?? true else { return nil }
    }

    /// Whether a process of it runs. One that has ended, and for which its parent has not waited, does not.
    public var isAlive: Bool {
        guard kill(-leader, 0) == 0 || errno == EPERM else { return false }
        guard let names = try? DirectoryReader(path: "/proc").names() else { return true }
        return names.contains { name in
            guard let process = Int32(String(decoding: name.bytes, as: UTF8.self)),
                let bytes = try? FileSystem.readProcFile("/proc/\(process)/stat")
            else { return false }
            // The name in parentheses may hold anything: state, parent and group come after it.
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = text.lastIndex(of: ")") else { return false }
            let fields = text[text.index(after: end)...].split(separator: " ")
            return fields.count > 2 && fields[2] == "\(leader)" && fields[0] != "Z" && fields[0] != "X"
        }
    }

    func send(_ signal: Int32) { _ = kill(-leader, signal) }

    /// Asks all of it to end (SIGTERM), and waits for that; ends what is left by SIGKILL.
    /// - Parameter seconds: how long it may take by itself.
    public func end(withinSeconds seconds: Double) {
        send(SIGTERM)
        waitForEnd(until: SystemClock.monotonicSeconds() + seconds)
    }

    /// Waits until nothing of it runs.
    /// - Parameter end: when SIGKILL is sent, on the monotonic clock.
    func waitForEnd(until end: Double) {
        while isAlive {
            let now = SystemClock.monotonicSeconds()
            if now > end { send(SIGKILL) }
            // A process that waits in the kernel ends when it comes back from there.
            if now > end + Self.killSeconds { return }
            usleep(Self.pollMicroseconds)
        }
    }
}
