import BackupCore
import SystemIO

/// Who holds a lock and since when, as it stands in a lock's note: lines of text, `key: value`.
public struct LockHolder: Hashable, Sendable {
    private static let magic = "backupfs-lock"
    static let byteCountLimit = 4096

    /// The file that is locked: `lock` or `packs.lock`.
    public let lock: String
    public let isExclusive: Bool
    /// What it is held for.
    public private(set) var operation: String
    public let host: String
    public let machineID: String
    public let bootID: String
    public let process: Int32
    /// When the process started, in ticks since the kernel did.
    public let processStart: UInt64
    public let since: Timestamp

    /// This process, from now on.
    public init(lock: String, isExclusive: Bool, operation: String) {
        self.lock = lock
        self.isExclusive = isExclusive
        self.operation = operation
        host = HostIdentity.hostName
        machineID = HostIdentity.machineID
        bootID = HostIdentity.bootID
        process = HostIdentity.processID
        processStart = HostIdentity.startTicks(of: HostIdentity.processID) ?? 0
        since = SystemClock.now().wholeSeconds
    }

    public func encode() -> [UInt8] {
        let lines = [
            Self.magic, "lock: \(lock)", "mode: \(isExclusive ? "exclusive" : "shared")", "operation: \(operation)",
            "host: \(host)",
            "machine: \(machineID)", "boot: \(bootID)", "pid: \(process)", "started: \(processStart)", "since: \(since.seconds)",
        ]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// - Returns: `nil` for what is no note, or was not written to its end.
    public init?(decoding bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), text.hasSuffix("\n") else { return nil }
        var lines = text.split(separator: "\n")[...]
        guard lines.popFirst() == Self.magic[...] else { return nil }
        var values: [Substring: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            values[line[..<colon]] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        guard let lock = values["lock"], let mode = values["mode"], let operation = values["operation"],
            let host = values["host"],
            let machineID = values["machine"], let bootID = values["boot"], let process = values["pid"].flatMap({ Int32($0) }),
            let processStart = values["started"].flatMap({ UInt64($0) }), let since = values["since"].flatMap({ Int64($0) })
        else { return nil }
        self.lock = lock
        isExclusive = mode == "exclusive"
        self.operation = operation
        self.host = host
        self.machineID = machineID
        self.bootID = bootID
        self.process = process
        self.processStart = processStart
        self.since = Timestamp(seconds: since)
    }

    /// Whether the holder runs, or ran, under the kernel that this process runs under.
    var isOfThisKernel: Bool { !bootID.isEmpty && bootID == HostIdentity.bootID }

    /// Whether the holder ran on this machine before it was started anew.
    var isOfEarlierKernel: Bool {
        !isOfThisKernel && !machineID.isEmpty && machineID == HostIdentity.machineID && host == HostIdentity.hostName
    }

    /// Whether its process has ended, for a holder of this kernel. A process of another container may not be seen from here.
    var hasEnded: Bool { HostIdentity.startTicks(of: process) != processStart }

    /// Whether its process runs, and can be sent a signal from here.
    public var runsHere: Bool { isOfThisKernel && !hasEnded }

    /// The same holder, said to do something else.
    public func renamed(_ operation: String) -> LockHolder {
        var holder = self
        holder.operation = operation
        return holder
    }

    /// `backup, by process 123 on fileserver, since 2026-01-11T14:30:00Z`.
    public var text: Message {
        let place: Message = host.isEmpty ? "an unnamed host" : .verbatim(host)
        return "\(operation), by process \(process) on \(place), since \(ISO8601.format(since))"
    }
}
