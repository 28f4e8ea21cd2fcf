import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// One mount, from the first check of the mountpoint to the unmount at the end.
public final class MountSession: Sendable {
    /// Why a mount ended.
    public enum End: Sendable, Equatable {
        /// It was unmounted from outside.
        case unmounted
        /// `requestEnd` was called.
        case requested
        /// A signal without a reaction.
        case signal(Int32)
    }

    public let options: MountOptions
    /// The mountpoint: absolute, without symbolic links.
    public let mountpoint: String
    private let server: TreeServer
    private let requests: RequestMonitor
    /// Bytes that report events (`Event`).
    private let events: SystemIO.Pipe

    /// Checks everything that can be checked in advance, and clears the mountpoint of a mount left by a crash. Mounts nothing.
    /// - Parameters:
    ///   - requests: counts and traces the requests.
    ///   - reportFailure: called for every request that failed with an input/output error.
    /// - Throws: errors of `FUSEAvailability.check` and `Mountpoint.prepare`.
    public init(
        tree: any TreeOperations, mountpoint: String, options: MountOptions = MountOptions(),
        requests: RequestMonitor = RequestMonitor(), reportFailure: FailureReport? = nil
    ) throws(BackupError) {
        try FUSEAvailability.check(options)
        self.mountpoint = try Mountpoint.prepare(mountpoint, options: options)
        self.options = options
        self.requests = requests
        server = TreeServer(tree: tree, options: options, reportFailure: reportFailure)
        events = try SystemIO.Pipe()
    }

    /// Mounts, serves until the end, and unmounts. Call it once.
    /// - Parameters:
    ///   - endsOnSignals: whether SIGTERM, SIGINT, SIGHUP and SIGUSR1 end the mount. Only one
    ///     session of a process may use this; while it runs, these signals have no other effect.
    ///   - reactions: actions for some of these signals instead of ending; called on this thread, and on another one while the
    ///     mount ends.
    ///   - onEnding: called on this thread when the mount is about to end, before it
    ///     waits for requests in progress; with the reason, which is `nil` for an error.
    ///   - onSignalWhileEnding: called on another thread for a signal without a reaction that comes after that.
    ///   - onReady: called on this thread as soon as the mount responds: later code finds the tree. If it throws, the mount ends
    ///     and the error is rethrown.
    /// - Returns: why it ended. Requests in progress at that time have been answered, and the mountpoint is free. Handles and
    ///   lookups that the kernel still held are not released one by one: the tree must release them itself.
    /// - Throws: `inputOutput` when the kernel refused to mount or the connection broke; nothing is left mounted then either.
    public func run(
        endsOnSignals: Bool = true, reactions: [Int32: @Sendable () -> Void] = [:], onEnding: (End?) -> Void = { _ in },
        onSignalWhileEnding: @escaping @Sendable () -> Void = {}, onReady: () throws(BackupError) -> Void
    ) throws(BackupError) -> End {
        // First: a signal that ends the process once it has mounted leaves a dead mount.
        let isRelaying = endsOnSignals && SignalRelay.begin(writer: events.writer.rawValue)
        var lateSignals: SystemThread?
        defer {
            if isRelaying { SignalRelay.end() }
            if let lateSignals {
                send(.ended)
                lateSignals.join()
            }
        }
        let served = try mount()
        let session = served.pointer
        server.session = served
        defer { server.session = nil }
        let entry = (try? MountTable.current())?.entry(at: mountpoint)
        StallWatch.setMountConnection(fuse_session_fd(session)) { [mountpoint] in
            guard let entry, (try? MountTable.current())?.entry(at: mountpoint) == entry else { return }
            try? Unmounter.detach(mountpoint, lazily: true)
        }
        let loop: SessionLoop
        let probe: ReadinessProbe
        let notifiers = (attributes: try? KernelNotifier(served), links: try? KernelNotifier(served))
        func endNotifiers() {
            notifiers.attributes?.end()
            notifiers.links?.end()
        }
        defer { server.tree.setObserver(nil) }
        do {
            let tree = server.tree
            loop = try SessionLoop(
                served, wait: { tree.wait(of: InodeNumber($0.node), for: $1) },
                isPending: { tree.isPending(InodeNumber($0.node), forAttributes: $1 == .attributes) },
                onStalled: { [server] in server.reportStall($0.name) }, onEnd: { [self] in send(.loopEnded) },
                requests: requests)
            tree.setObserver(SessionObserver(attributes: notifiers.attributes, links: notifiers.links, loop: loop))
        } catch {
            endNotifiers()
            unmount(session, entry)
            throw error
        }
        do {
            probe = try ReadinessProbe(mountpoint: mountpoint) { [self] in send(.ready) }
        } catch {
            endNotifiers()
            _ = loop.end()
            unmount(session, entry)
            throw error
        }
        let end = Result { () throws(BackupError) in try waitForEnd(reactions, onReady) }
        // Ending can take as long as a backup. Without a thread more, signals have no effect meanwhile.
        lateSignals = try? SystemThread { [self] in
            serveLateSignals { signal in (reactions[signal] ?? onSignalWhileEnding)() }
        }
        onEnding(try? end.get())
        // Before the serving threads: they may be waiting for a process whose request those have to answer.
        endNotifiers()
        server.tree.setObserver(nil)
        let failure = loop.end()
        // Not earlier: the threads use the session's descriptor, which this closes.
        unmount(session, entry)
        probe.join()
        guard failure == 0 else {
            throw BackupError(
                .inputOutput, "the connection to the kernel broke: \(SystemCall.reason(failure))", path: mountpoint,
                remedy: "Mount it again.")
        }
        return try end.get()
    }

    /// Ends the mount soon, from any thread; `run` then returns. Files that are open in it fail from then on.
    public func requestEnd() { send(.requested) }

    /// The meaning of the bytes in the pipe; other values are signal numbers.
    fileprivate enum Event: UInt8 {
        case loopEnded = 0
        /// Nothing is left to end.
        case ended = 253
        case ready = 254
        case requested = 255
    }

    private func send(_ event: Event) {
        var byte = event.rawValue
        _ = write(events.writer.rawValue, &byte, 1)
    }

    /// - Returns: a mounted session.
    private func mount() throws(BackupError) -> ServedSession {
        var operations = LowLevelOperations.make()
        let server = Unmanaged.passUnretained(server).toOpaque()
        let (created, creationMessages) = LibraryLog.collecting {
            (["backupfs"] + options.libraryArguments).withCStrings { arguments in
                var arguments = arguments
                let count = Int32(arguments.count - 1)
                return arguments.withUnsafeMutableBufferPointer { buffer in
                    // libfuse copies what it uses of the arguments and of the table.
                    var list = fuse_args(argc: count, argv: buffer.baseAddress, allocated: 0)
                    defer { fuse_opt_free_args(&list) }
                    return fuse_session_new(&list, &operations, MemoryLayout<fuse_lowlevel_ops>.size, server)
                }
            }
        }
        guard let session = created else { throw mountError(creationMessages) }
        let (result, mountMessages) = LibraryLog.collecting { fuse_session_mount(session, mountpoint) }
        guard result == 0 else {
            fuse_session_destroy(session)
            throw mountError(mountMessages)
        }
        return ServedSession(pointer: session)
    }

    private func mountError(_ messages: String) -> BackupError {
        let reason = messages.isEmpty ? "fusermount3 refused; its reason is in the log or above this line" : messages
        return BackupError(.inputOutput, "could not mount: \(reason)", path: mountpoint)
    }

    /// Waits until the mount has ended or has to end.
    private func waitForEnd(
        _ reactions: [Int32: @Sendable () -> Void], _ onReady: () throws(BackupError) -> Void
    ) throws(BackupError) -> End {
        while true {
            let byte = nextEvent()
            switch Event(rawValue: byte) {
            case .loopEnded: return .unmounted
            case .requested, .ended: return .requested
            case nil:
                guard let react = reactions[Int32(byte)] else { return .signal(Int32(byte)) }
                react()
            case .ready:
                ReadAhead.raise(mountpoint: mountpoint)
                try onReady()
            }
        }
    }

    /// Passes the signals on that come while the mount ends, until it has ended.
    private func serveLateSignals(_ handle: (Int32) -> Void) {
        while true {
            let byte = nextEvent()
            switch Event(rawValue: byte) {
            case .ended: return
            case nil: handle(Int32(byte))
            case .loopEnded, .requested, .ready: break
            }
        }
    }

    private func nextEvent() -> UInt8 {
        var byte: UInt8 = 0
        while read(events.reader.rawValue, &byte, 1) != 1 {}
        return byte
    }

    /// Ends the session and unmounts it, unless it was unmounted from outside.
    /// - Parameter entry: the mount's entry in the table of mounts. After a lazy unmount another mount may be visible in its
    ///   place, which is left alone; the session's own mount then ends with its descriptor.
    private func unmount(_ session: OpaquePointer, _ entry: MountTable.Entry?) {
        StallWatch.setMountConnection(nil)
        let table = try? MountTable.current()
        if table == nil || entry == nil || table?.entry(at: mountpoint) == entry { fuse_session_unmount(session) }
        fuse_session_destroy(session)
    }
}

/// Turns termination and control signals into bytes in a pipe, so that a thread can wait for them together with other events.
enum SignalRelay {
    private static let signals: [Int32] = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

    /// The descriptor that the handler writes to; -1 if there is none. An atomic, since a handler must not take a lock.
    private static let descriptor = Atomic<Int32>(-1)
    /// The previous signal actions.
    private static let earlier = Mutex<[sigaction]>([])

    /// - Parameter writer: gets the signal's number as one byte; remains the caller's.
    /// - Returns: false when the relay is already in use; nothing has changed then.
    static func begin(writer: Int32) -> Bool {
        guard descriptor.compareExchange(expected: -1, desired: writer, ordering: .sequentiallyConsistent).exchanged else {
            return false
        }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { signal in
            let saved = errno
            var byte = UInt8(truncatingIfNeeded: signal)
            let writer = SignalRelay.descriptor.load(ordering: .sequentiallyConsistent)
            if writer >= 0 { _ = write(writer, &byte, 1) }
            errno = saved
        }
        action.sa_flags = SA_RESTART
        earlier.withLock { earlier in
            earlier = signals.map { signal in
                var old = sigaction()
                sigaction(signal, &action, &old)
                return old
            }
        }
        return true
    }

    static func end() {
        earlier.withLock { earlier in
            for (signal, old) in zip(signals, earlier) {
                var old = old
                sigaction(signal, &old, nil)
            }
            earlier = []
        }
        descriptor.store(-1, ordering: .sequentiallyConsistent)
    }
}

/// How far the kernel reads ahead in a mount. FUSE's default of 128 KiB cannot be raised when the mount is negotiated; a larger
/// value makes sequential reads two to four times as fast.
enum ReadAhead {
    static let sizeKiB = 2048

    /// Only root may do this; for other users, and without `/sys`, it is a no-op.
    static func raise(mountpoint: String) {
        guard geteuid() == 0, let entry = (try? MountTable.current())?.entry(at: mountpoint), entry.isFUSE else { return }
        let path = "/sys/class/bdi/\(entry.major):\(entry.minor)/read_ahead_kb"
        guard let descriptor = try? OwnedDescriptor.open(path, O_WRONLY) else { return }
        try? descriptor.writeAll(Array("\(sizeKiB)\n".utf8))
    }
}

/// libfuse's log messages. While a mount is being set up, they become part of the error; at other times they go to standard
/// error.
enum LibraryLog {
    /// Messages of the threads that collect them.
    private static let collected = Mutex<[pthread_t: String]>([:])

    /// Done once for the process: libfuse has one log function for all its sessions.
    private static let isInstalled: Bool = {
        fuse_set_log_func { _, format, arguments in
            guard let format, let arguments else { return }
            var buffer = [CChar](repeating: 0, count: 1024)
            vsnprintf(&buffer, buffer.count, format, arguments)
            LibraryLog.add(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return true
    }()

    static func install() { _ = isInstalled }

    /// Runs `body` and collects what libfuse logs on this thread meanwhile.
    /// - Returns: the messages, on one line.
    static func collecting<Result>(_ body: () -> Result) -> (result: Result, messages: String) {
        install()
        let thread = pthread_self()
        collected.withLock { $0[thread] = "" }
        let result = body()
        let messages = collected.withLock { $0.removeValue(forKey: thread) } ?? ""
        return (result, messages.split(separator: "\n").joined(separator: "; "))
    }

    private static func add(_ message: String) {
        let isCollected = collected.withLock { collected in
            guard let earlier = collected[pthread_self()] else { return false }
            collected[pthread_self()] = earlier + message
            return true
        }
        if !isCollected {
            let line = Array("backupfs: \(message)".utf8)
            _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }
}
