import BackupCore
import Glibc
import Synchronization

/// Ends this process when it was asked to stop and storage that does not answer prevents that: a thread that waits in the kernel
/// for a disk or a server cannot be cancelled. This leaves the same state as a crash, and the next operation cleans it up.
///
/// A process is stalled when it has used almost no processor time for a while and waits for no user command, which has its own
/// time limit. An operation that completes or rolls back a change that cannot stay half done may wait long for a slow disk, and
/// gets more time. If the process is ended anyway, the next start of the store resumes it.
public enum StallWatch {
    /// How long the process may stay idle after the request.
    public static let limitSeconds = 20
    private static let shieldedLimitSeconds = 300
    private static let stepMicroseconds: UInt32 = 250_000
    /// Two percent of the step: enough for threads that only poll for work, like those of a mount that ends.
    private static let idleNanosecondsPerStep: UInt64 = 5_000_000

    private static let runCount = Atomic<Int>(0)
    private static let commandCount = Atomic<Int>(0)

    /// Posted by signal handlers, which may do little else. Never freed.
    private nonisolated(unsafe) static let request: UnsafeMutablePointer<sem_t> = {
        let request = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        request.initialize(to: sem_t())
        sem_init(request, 0, 0)
        return request
    }()

    private static let mountConnection = Atomic<Int32>(-1)
    private static let mountRemoval = Mutex<(@Sendable () -> Void)?>(nil)
    /// The time limit for the message, and for removing the mount.
    private static let besideNanoseconds: UInt64 = 2_000_000_000
    private static let handler = Mutex<(@Sendable () -> Void)?>(nil)

    /// Enables ending this process when its operations stall.
    /// - Parameter onStall: reports it; it must not wait for storage.
    public static func enable(onStall: @escaping @Sendable () -> Void) {
        // Created here and not in a signal handler.
        _ = request
        handler.withLock { $0 = onStall }
    }

    /// Closes the connection of a mount when this process is ended, so that callers blocked in the mount get an error. The kernel
    /// keeps a process's descriptors while one of its threads waits in the kernel, and would otherwise keep those callers
    /// waiting, too.
    /// - Parameters:
    ///   - descriptor: `nil` when the mount has ended.
    ///   - removal: unmounts, so that no dead mount is left.
    public static func setMountConnection(_ descriptor: Int32?, removal: (@Sendable () -> Void)? = nil) {
        mountRemoval.withLock { $0 = removal }
        mountConnection.store(descriptor ?? -1, ordering: .sequentiallyConsistent)
    }

    /// Started with the first operation. If no thread can be started, a second signal still ends the process.
    private static let watcher: Void = {
        let posted = Posted(request)
        let thread = try? SystemThread {
            var pending = PendingSignals()
            while true {
                if CancellingSignals.areOn {
                    // The thread that the kernel chose for a signal may be blocked in the kernel: then no handler runs.
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

    /// `@unchecked Sendable`: a semaphore is made for use by several threads.
    private struct Posted: @unchecked Sendable {
        let request: UnsafeMutablePointer<sem_t>
        init(_ request: UnsafeMutablePointer<sem_t>) { self.request = request }
    }

    /// Notes that something was asked to end. Safe in signal handlers.
    public static func noteRequest() { sem_post(request) }

    /// A mount ends: until `finishEnding`, threads that serve requests on stalled storage must not block it.
    public static func beginEnding() {
        if handler.withLock({ $0 != nil }) { _ = watcher }
        runCount.add(1, ordering: .sequentiallyConsistent)
        noteRequest()
    }

    /// The mount has ended (`beginEnding`).
    public static func finishEnding() { runCount.subtract(1, ordering: .sequentiallyConsistent) }

    /// Runs an operation that may be asked to end.
    static func running<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        if handler.withLock({ $0 != nil }) { _ = watcher }
        runCount.add(1, ordering: .sequentiallyConsistent)
        defer { runCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// Runs a wait for a user command.
    static func waitingForCommand<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        commandCount.add(1, ordering: .sequentiallyConsistent)
        defer { commandCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// Waits until all operations have ended, or have been idle for too long.
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

    /// Whether the process waits for a user command.
    public static var isWaitingForCommand: Bool { commandCount.load(ordering: .sequentiallyConsistent) > 0 }

    /// The processor time of all threads.
    public static var processorNanoseconds: UInt64 {
        var value = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &value)
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// Exits as after SIGINT.
    private static func end() -> Never {
        if let say = handler.withLock({ $0 }) { runBeside(say) }
        endProcess(130)
    }

    /// Ends this process while some of its threads wait for storage. Locks are released first: a thread in uninterruptible sleep
    /// (D state) would hold them as long as it waits, and it never returns to user code.
    public static func endProcess(_ status: Int32) -> Never {
        HeldLocks.releaseAll()
        if let removal = mountRemoval.withLock({ $0 }) { runBeside(removal) }
        let connection = mountConnection.load(ordering: .sequentiallyConsistent)
        if connection >= 0 { close(connection) }
        _exit(status)
    }

    /// Runs `body` in its own thread and waits briefly for it: a mount's log or mountpoint may be on storage that does not
    /// answer.
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

/// The locks that this process holds, for an exit that cannot wait for their holders: a thread in uninterruptible sleep (D state)
/// keeps its descriptors, and with them their locks, until it wakes.
enum HeldLocks {
    private static let held = Mutex<[Int32: @Sendable (Int32) -> Int32]>([:])

    /// - Parameter unlock: releases the lock of this descriptor; a no-op where there is none.
    static func add(_ descriptor: Int32, unlock: @escaping @Sendable (Int32) -> Int32) {
        held.withLock { $0[descriptor] = unlock }
    }

    /// Releases one lock. A no-op the second time.
    static func release(_ descriptor: Int32) {
        guard let unlock = held.withLock({ $0.removeValue(forKey: descriptor) }) else { return }
        _ = unlock(descriptor)
    }

    /// Releases every lock of this process, which exits immediately afterwards.
    static func releaseAll() {
        held.withLock { held in
            for (descriptor, unlock) in held { _ = unlock(descriptor) }
        }
    }
}
