import BackupCore
import SystemIO

/// The holder of a lock and when it was acquired, as written in a lock's note: lines of text, `key: value`.
public struct LockHolder: Hashable, Sendable {
    private static let magic = "backupfs-lock"
    static let byteCountLimit = 4096

    /// The locked file: `lock`, `packs.lock` or `names.lock`.
    public let lock: String
    /// Whether it keeps all others away; otherwise others may share it.
    public let isExclusive: Bool
    /// The operation it is held for.
    public private(set) var operation: String
    /// The host's name, for people: it need not be unique.
    public let host: String
    let machineID: String
    let bootID: String
    /// The number of the process, on its host.
    public let process: Int32
    /// When the process started, in ticks since boot.
    public let processStart: UInt64
    /// When it got the lock, by its own clock.
    public let since: Timestamp
    /// The PID namespace (the container) in which `process` has this number; `nil` in notes of older programs.
    let namespace: String?
    /// The device and inode of the locked file. The kernel's locks work for a process that sees the same ones. `nil` in notes of
    /// older programs.
    let volume: String?

    /// This process, from now on.
    /// - Parameter path: of the locked file.
    public init(lock: String, isExclusive: Bool, operation: String, path: String? = nil) {
        self.lock = lock
        self.isExclusive = isExclusive
        self.operation = operation
        host = HostIdentity.hostName
        machineID = HostIdentity.machineID
        bootID = HostIdentity.bootID
        process = HostIdentity.processID
        processStart = HostIdentity.startTicks(of: HostIdentity.processID) ?? 0
        since = SystemClock.now().wholeSeconds
        namespace = HostIdentity.processNamespace
        volume = path.flatMap { try? Self.volume(of: $0) }
    }

    /// - Returns: `nil` when there is no such file.
    static func volume(of path: String) throws(BackupError) -> String? {
        try FileSystem.look(path).map { "\($0.device):\($0.inode)" }
    }

    public func encode() -> [UInt8] {
        var record = KeyValueRecord(magic: Self.magic)
        record.append("lock", lock)
        record.append("mode", isExclusive ? "exclusive" : "shared")
        record.append("operation", operation)
        record.append("host", host)
        record.append("machine", machineID)
        record.append("boot", bootID)
        record.append("pid", process)
        record.append("started", processStart)
        record.append("since", since.seconds)
        // Older programs ignore unknown keys.
        record.append("namespace", namespace)
        record.append("volume", volume)
        return record.encoded
    }

    /// - Returns: `nil` for anything but a complete note.
    public init?(decoding bytes: [UInt8]) {
        let record = KeyValueRecord(decoding: bytes, magic: Self.magic, dropsSpaces: true)
        let refused: [KeyValueRecord.Flaw] = [.notText, .cutOff, .foreign, .noPair]
        guard !record.flaws.contains(where: refused.contains), let lock = record["lock"], let mode = record["mode"],
            let operation = record["operation"], let host = record["host"], let machineID = record["machine"],
            let bootID = record["boot"], let process: Int32 = record.number("pid"),
            let processStart: UInt64 = record.number("started"), let since: Int64 = record.number("since"),
            // It becomes part of a path.
            !lock.isEmpty, !lock.contains("/")
        else { return nil }
        self.lock = lock
        isExclusive = mode == "exclusive"
        self.operation = operation
        self.host = host
        self.machineID = machineID
        self.bootID = bootID
        self.process = process
        self.processStart = processStart
        self.since = Timestamp(seconds: since).withinCalendar
        namespace = record["namespace"]
        volume = record["volume"]
    }

    /// Whether the holder runs, or ran, under the same kernel as this process.
    var isOfThisKernel: Bool { !bootID.isEmpty && bootID == HostIdentity.bootID }

    /// Whether the holder ran on this machine before its last boot.
    var isOfEarlierKernel: Bool {
        !isOfThisKernel && !machineID.isEmpty && machineID == HostIdentity.machineID && host == HostIdentity.hostName
    }

    /// Whether the process has the same number here as there, for a holder of this kernel. Notes of older programs do not record
    /// it; true is assumed.
    var canSeeProcess: Bool { namespace.map { $0 == HostIdentity.processNamespace } ?? true }

    /// Whether its process has ended, for a holder of this kernel. A process in another container may not be visible from here.
    var hasEnded: Bool { HostIdentity.hasEnded(process, startTicks: processStart) }

    /// Whether the holder is this process, which has released the lock but could not remove the note.
    func isLeftByThisProcess(at notePath: String) -> Bool {
        process == HostIdentity.processID && !hasEnded && !LockRefresher.shared.isRenewing(notePath)
    }

    /// Whether its process runs and can be signalled from here.
    public var runsHere: Bool { isOfThisKernel && canSeeProcess && !hasEnded }

    /// The same holder with another operation.
    public func renamed(_ operation: String) -> LockHolder {
        var holder = self
        holder.operation = operation
        return holder
    }

    /// `backup, by process 123 on fileserver, since 2026-01-11 14:30:00`, local time. A user who can write to the repository can
    /// put anything into a note.
    public var text: Message {
        let place: Message = host.isEmpty ? "an unnamed host" : .verbatim(MessageText.shortened(host))
        return "\(MessageText.shortened(operation)), by process \(process) on \(place), since \(SystemClock.localTime(since))"
    }
}
