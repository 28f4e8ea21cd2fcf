import BackupCore
import Glibc
import Synchronization

/// Ends this process when it was asked to end what it runs and storage that does not answer keeps it from that: a thread that waits in the kernel for a
/// disk or a server cannot be asked anything. What is left behind is what a crash leaves, and the next operation clears it away.
///
/// It is stalled when it has used next to no processor time for a while, and waits for no command of the user's: that has a time limit of its own.
/// What finishes or puts back what cannot be left as it is may wait for a slow
/// disk for long, and gets more time; if it is ended all the same, the next start of the store goes on with it.
public enum StallWatch {
    /// So long nothing may happen after the request.
    public static let limitSeconds = 20
    private static let shieldedLimitSeconds = 300
    private static let stepMicroseconds: UInt32 = 250_000
    /// Two hundredths of the time: what threads take that only look whether there is something to do, as those of a mount that ends.
    private static let idleNanosecondsPerStep: UInt64 = 5_000_000

    private static let runCount = Atomic<Int>(0)
    private static let commandCount = Atomic<Int>(0)

    /// Posted by signal handlers, which may not do much else. Never freed.
    private nonisolated(unsafe) static let request: UnsafeMutablePointer<sem_t> = {
        let request = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        request.initialize(to: sem_t())
        sem_init(request, 0, 0)
        return request
    }()

    private static let mountConnection = Atomic<Int32>(-1)
    private static let mountRemoval = Mutex<(@Sendable () -> Void)?>(nil)
    /// So long its message, and the end of the mount, may take.
    private static let besideNanoseconds: UInt64 = 2_000_000_000
    private static let handler = Mutex<(@Sendable () -> Void)?>(nil)

    /// Has this process ended when what it runs is stalled.
    /// - Parameter onStall: says so; it must not wait for storage.
    public static func enable(onStall: @escaping @Sendable () -> Void) {
        // Made here and not in a signal handler.
        _ = request
        handler.withLock { $0 = onStall }
    }

    /// Has the connection of a mount closed when this process is ended: whoever waits for an answer in the mount is then told that there will be none.
    /// The kernel keeps the descriptors of a process for as long as one of its threads waits in it, and would keep them waiting, too.
    /// - Parameters:
    ///   - descriptor: `nil` when the mount has ended.
    ///   - removal: takes the mount away, so that no dead one is left.
    public static func setMountConnection(_ descriptor: Int32?, removal: (@Sendable () -> Void)? = nil) {
        mountRemoval.withLock { $0 = removal }
        mountConnection.store(descriptor ?? -1, ordering: .sequentiallyConsistent)
    }

    /// Started with the first operation. Without a thread to spare, a second signal still ends the process.
    private static let watcher: Void = {
        let posted = Posted(request)
        let thread = try? SystemThread {
            var pending = PendingSignals()
            while true {
                if CancellingSignals.areOn {
                    // The thread that the kernel has chosen for a signal may be one that waits in the kernel: then no handler runs.
                    while sem_trywait(posted.request) == -1 {
                        usleep(stepMicroseconds)
                        guard pending.take() else { continue }
                        Cancellation.cancelProcess()
                        break
                    }
                } else {
                    while sem_wait(posted.request) == -1, errno == EINTR {}
                }
                if hasStalled() { end() }
            }
        }
        thread?.detach()
    }()

    /// `@unchecked Sendable`: a semaphore is for several threads.
    private struct Posted: @unchecked Sendable {
        let request: UnsafeMutablePointer<sem_t>
        init(_ request: UnsafeMutablePointer<sem_t>) { self.request = request }
    }

    /// Something was asked to end. Also for signal handlers.
    public static func noteRequest() { sem_post(request) }

    /// A mount ends: from now to `finishEnding`, threads that serve requests which storage does not answer must not keep it.
    public static func beginEnding() {
        if handler.withLock({ $0 != nil }) { _ = watcher }
        runCount.add(1, ordering: .sequentiallyConsistent)
        noteRequest()
    }

    public static func finishEnding() { runCount.subtract(1, ordering: .sequentiallyConsistent) }

    /// Runs what may be asked to end.
    static func running<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        if handler.withLock({ $0 != nil }) { _ = watcher }
        runCount.add(1, ordering: .sequentiallyConsistent)
        defer { runCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// Runs what waits for a command of the user's.
    static func waitingForCommand<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        commandCount.add(1, ordering: .sequentiallyConsistent)
        defer { commandCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// Waits until what runs has ended, or has been idle for too long.
    private static func hasStalled() -> Bool {
        let stepsPerSecond = 1_000_000 / Int(stepMicroseconds)
        var idleCount = 0
        var before = processorNanoseconds
        while idleCount < (Cancellation.isAnyShielded ? shieldedLimitSeconds : limitSeconds) * stepsPerSecond {
            usleep(stepMicroseconds)
            if runCount.load(ordering: .sequentiallyConsistent) == 0 { return false }
            let now = processorNanoseconds
            let isIdle = now - before < idleNanosecondsPerStep && !isWaitingForCommand
            idleCount = isIdle ? idleCount + 1 : 0
            before = now
        }
        return true
    }

    /// Whether a command of the user's is waited for.
    public static var isWaitingForCommand: Bool { commandCount.load(ordering: .sequentiallyConsistent) > 0 }

    /// What all threads have used.
    public static var processorNanoseconds: UInt64 {
        var value = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &value)
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// As after SIGINT.
    private static func end() -> Never {
        if let say = handler.withLock({ $0 }) { runBeside(say) }
        endProcess(130)
    }

    /// Ends this process while threads of it wait for storage. The locks go first: a thread that the kernel cannot interrupt would keep them for as long as it
    /// waits, and it never comes back to do anything.
    public static func endProcess(_ status: Int32) -> Never {
        HeldLocks.releaseAll()
        if let removal = mountRemoval.withLock({ $0 }) { runBeside(removal) }
        let connection = mountConnection.load(ordering: .sequentiallyConsistent)
        if connection >= 0 { close(connection) }
        _exit(status)
    }

    /// In a thread of its own, which is waited for for a moment: the log of a mount, or its mountpoint, may lie on storage that does not answer.
    public static func runBeside(_ body: @escaping @Sendable () -> Void) {
        let isDone = Monitor(false)
        let thread = try? SystemThread {
            body()
            isDone.changeWakingAll { $0 = true }
        }
        guard let thread else { return }
        thread.detach()
        _ = isDone.wait(until: { $0 }, forNanoseconds: besideNanoseconds)
    }
}
