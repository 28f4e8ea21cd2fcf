import BackupCore
import CFUSE
import Glibc
import Synchronization
import SystemIO
import VirtualTree

/// The threads that read requests from the kernel and serve them.
///
/// libfuse's own loop is not used: it ends its threads by pthread_cancel(3), even while one of them writes a message, and
/// standard error then stays locked forever. Here every thread ends by itself.
final class SessionLoop: Sendable {
    /// One of the threads.
    private final class Worker: Sendable {
        /// Whether it waits for a request, or is about to.
        let isWaiting = Atomic(true)
    }

    private struct State {
        var threads: [(thread: SystemThread, worker: Worker)] = []
        /// The errno of a read that failed for another reason than the end of the mount.
        var failure: Int32 = 0
    }

    private let session: ServedSession
    private let descriptor: Int32
    private let lanes = WaitingLanes()
    private let stuck: StuckRequests
    private let parked = ParkedRequests()
    private let interrupts = EarlyInterrupts()
    /// Requests whose answers may take minutes and which change nothing.
    private let views = Cancellation()
    private let wait: @Sendable (RequestHeader, RequestAim) -> RequestWait?
    private let isPending: @Sendable (RequestHeader, RequestHeader.Look) -> Bool
    private let onEnd: @Sendable () -> Void
    private let requests: RequestMonitor
    private let state = Mutex(State())
    // Fields that every request uses are not part of the state: threads that take one lock for every request are ten times
    // slower.
    private let isEnding = Atomic(false)
    /// Threads that wait for a request.
    private let idleCount = Atomic(0)
    private let threadCount = Atomic(0)
    private let endedThreadCount = Atomic<Int>(0)

    /// Serves with one thread at first, and adds one whenever all are busy, up to the limit of `WaitingLanes`.
    /// - Parameters:
    ///   - session: mounted; must stay mounted, and live, until `end` has returned.
    ///   - wait: returns what a request may wait for.
    ///   - isPending: whether the node of a request is not accessible yet; `servePending` must be called once it is.
    ///   - onStalled: called with a request that was answered with an error, because the storage did not respond.
    ///   - onEnd: called by a thread that finds that the mount has ended or the connection has broken; possibly several times.
    init(
        _ session: ServedSession,
        wait: @escaping @Sendable (RequestHeader, RequestAim) -> RequestWait?,
        isPending: @escaping @Sendable (RequestHeader, RequestHeader.Look) -> Bool,
        onStalled: @escaping @Sendable (RequestHeader) -> Void, onEnd: @escaping @Sendable () -> Void,
        requests: RequestMonitor
    ) throws(BackupError) {
        _ = Self.isWakeSignalHandled
        self.session = session
        let descriptor = fuse_session_fd(session.pointer)
        self.descriptor = descriptor
        stuck = StuckRequests(
            lanes, turnSeconds: StallLimits.turnSeconds,
            onInterrupted: { Self.answer($0.number, EINTR, descriptor, requests) },
            onStalled: { header in
                Self.answer(header.number, EIO, descriptor, requests)
                onStalled(header)
            })
        self.wait = wait
        self.isPending = isPending
        self.onEnd = onEnd
        self.requests = requests
        try state.withLock { (state) throws(BackupError) in try startThread(&state) }
    }

    /// Lets the threads finish the requests in progress, and ends them. Requests that only read (`RequestWait.isOfView`) are
    /// cancelled.
    /// - Returns: 0, or the errno with which the connection broke.
    func end() -> Int32 {
        let threads = state.withLock { state in
            isEnding.store(true, ordering: .sequentiallyConsistent)
            return state.threads
        }
        views.request()
        // Repeated, since a signal that comes just before a thread begins to read is lost.
        // A thread that serves a request, which may be a backup, is not interrupted.
        var pauseMicroseconds: UInt32 = 500
        while endedThreadCount.load(ordering: .acquiring) < threads.count {
            for (thread, worker) in threads where worker.isWaiting.load(ordering: .sequentiallyConsistent) {
                pthread_kill(thread.handle, Self.wakeSignal)
            }
            usleep(pauseMicroseconds)
            pauseMicroseconds = min(pauseMicroseconds * 2, 20_000)
        }
        for (thread, _) in threads { thread.join() }
        stuck.end()
        parked.end()
        return state.withLock { $0.failure }
    }

    /// Interrupts a thread's read; it has no other effect.
    private static let wakeSignal = SIGUSR2
    private static let isWakeSignalHandled: Bool = {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        // Without SA_RESTART: the read must end.
        sigaction(wakeSignal, &action, nil)
        return true
    }()

    /// The largest request with its header.
    private static let bufferSizeBytes = MountOptions.largestRequestBytes + 4096

    private func startThread(_ state: inout State) throws(BackupError) {
        let worker = Worker()
        let thread = try SystemThread { [self] in serve(worker) }
        state.threads.append((thread, worker))
        threadCount.add(1, ordering: .relaxed)
        idleCount.add(1, ordering: .relaxed)
    }

    /// The main loop of each thread.
    private func serve(_ worker: Worker) {
        Self.blockSignals()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSizeBytes, alignment: 4096)
        let activity = ThreadActivity()
        defer {
            memory.deallocate()
            worker.isWaiting.store(false, ordering: .sequentiallyConsistent)
            endedThreadCount.add(1, ordering: .releasing)
        }
        while let count = nextRequest(memory) {
            worker.isWaiting.store(false, ordering: .sequentiallyConsistent)
            beginServing()
            serve(UnsafeMutableRawBufferPointer(rebasing: memory[..<count]), activity)
            worker.isWaiting.store(true, ordering: .sequentiallyConsistent)
            idleCount.add(1, ordering: .relaxed)
        }
    }

    /// Serves a request, and then those that have waited for it. A request that cannot be served now is left to another thread.
    private func serve(_ request: UnsafeMutableRawBufferPointer, _ activity: ThreadActivity) {
        let bytes = UnsafeRawBufferPointer(request)
        let header = RequestHeader(bytes)
        if let number = header.interruptedNumber(bytes) {
            if !takeBack(number) { process(request) }
            return
        }
        if header.opensFolder { stuck.hurry(header.node) }
        if let look = header.look(bytes, exceptAttribute: "user.backupfs.state"),
            parked.park(bytes, if: { isPending(header, look) })
        {
            answerIfInterrupted(header.number)
            return
        }
        guard let aim = header.aim(bytes), let wait = wait(header, aim) else { return process(request) }
        let lane = lanes.lane(for: wait)
        guard lane.enter(header, bytes, activity) else { return answerIfInterrupted(header.number) }
        // The signal may have come before the request was registered.
        if interrupts.contains(header.number) { _ = stuck.interrupt(header.number) }
        process(request, wait)
        var number = header.number
        while var next = lane.leave(number, activity, isEnding: isEnding.load(ordering: .sequentiallyConsistent)) {
            number = next.withUnsafeBytes { RequestHeader($0).number }
            next.withUnsafeMutableBytes { process($0, wait) }
        }
    }

    private func process(_ request: UnsafeMutableRawBufferPointer, _ wait: RequestWait) {
        guard wait.isOfView else { return process(request) }
        try? views.run { () throws(BackupError) in process(request) }
    }

    /// Serves the requests that have waited for a backup, on the calling thread.
    func servePending() { parked.serve { process($0) } }

    /// Answers a waiting request whose program has received a signal.
    /// - Returns: whether it was waiting; otherwise libfuse may know it.
    private func takeBack(_ number: UInt64) -> Bool {
        interrupts.note(number)
        guard parked.remove(number) || lanes.all.contains(where: { $0.remove(number) }) else {
            _ = stuck.interrupt(number)
            return false
        }
        answerInterrupted(number)
        return true
    }

    /// The signal may have come before the request could be found.
    private func answerIfInterrupted(_ number: UInt64) {
        guard interrupts.contains(number), parked.remove(number) || lanes.all.contains(where: { $0.remove(number) })
        else { return }
        answerInterrupted(number)
    }

    private func answerInterrupted(_ number: UInt64) {
        interrupts.remove(number)
        Self.answer(number, EINTR, descriptor, requests)
    }

    /// libfuse does not know the request, or its thread's own reply comes too late and has no effect.
    private static func answer(_ number: UInt64, _ error: Int32, _ descriptor: Int32, _ requests: RequestMonitor) {
        requests.noteFailure(error)
        ServedSession.send(descriptor, -error, request: number)
    }

    private func process(_ request: UnsafeMutableRawBufferPointer) {
        var buffer = fuse_buf()
        buffer.mem = request.baseAddress
        buffer.size = request.count
        let served = requests.begin(UnsafeRawBufferPointer(request))
        fuse_session_process_buf(session.pointer, &buffer)
        requests.end(served)
    }

    /// Counts one idle thread less; if it was the last one, starts another. If that fails, the existing threads have to do.
    private func beginServing() {
        let left = idleCount.subtract(1, ordering: .relaxed).newValue
        guard left <= 0, threadCount.load(ordering: .relaxed) < lanes.maximumThreadCount else { return }
        state.withLock { state in
            if state.threads.count < lanes.maximumThreadCount, !isEnding.load(ordering: .relaxed) { try? startThread(&state) }
        }
    }

    /// Waits for a request.
    /// - Returns: its length in bytes, or `nil` when the thread has to end.
    private func nextRequest(_ memory: UnsafeMutableRawBufferPointer) -> Int? {
        while !isEnding.load(ordering: .sequentiallyConsistent) {
            let count = read(descriptor, memory.baseAddress, memory.count)
            if count >= RequestHeader.sizeBytes { return count }
            let number = count == -1 ? errno : (count == 0 ? ENODEV : EIO)
            switch number {
            // ENOENT: the request was interrupted before it could be read.
            case EINTR, EAGAIN, ENOENT: continue
            // Unmounted, or ended through /sys/fs/fuse/connections.
            case ENODEV, ECONNABORTED: break
            default: state.withLock { $0.failure = number }
            }
            onEnd()
            return nil
        }
        return nil
    }

    /// Other threads handle the signals for the program.
    private static func blockSignals() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        sigemptyset(&signals)
        sigaddset(&signals, wakeSignal)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}

/// The latest requests that the kernel has interrupted: a request that another thread has just read may not be registered as
/// waiting yet.
final class EarlyInterrupts: Sendable {
    private static let limit = 64
    private let numbers = Monitor<[UInt64]>([])

    func note(_ number: UInt64) {
        numbers.withLock { numbers in
            if numbers.count >= Self.limit { numbers.removeFirst() }
            numbers.append(number)
        }
    }

    func contains(_ number: UInt64) -> Bool { numbers.withLock { $0.contains(number) } }

    func remove(_ number: UInt64) { numbers.withLock { $0.removeAll { $0 == number } } }
}
