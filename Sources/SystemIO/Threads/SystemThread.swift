import BackupCore
import CLinux
import Glibc

/// An operating system thread, for work that blocks in system calls: such work would block the threads of a language's pool.
public struct SystemThread: Sendable {
    /// The argument of the thread.
    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// For pthread_kill(3) and similar calls, until `join` was called.
    public let handle: pthread_t

    /// Starts it.
    /// - Throws: `inputOutput` when the system is out of threads.
    public init(_ body: @escaping @Sendable () -> Void) throws(BackupError) {
        var handle = pthread_t()
        let argument = Unmanaged.passRetained(Start(body))
        let result = pthread_create(
            &handle, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, argument.toOpaque())
        guard result == 0 else {
            argument.release()
            throw SystemCall.error(result, action: "start a thread", path: "backupfs")
        }
        self.handle = handle
    }

    /// Lets the thread end by itself, when no other thread will join it.
    public func detach() { pthread_detach(handle) }

    /// Waits until the thread has ended. Call it once.
    public func join() { pthread_join(handle, nil) }
}

/// Whether a thread makes progress: one that waits in the kernel for storage uses no processor time, one that waits repeatedly
/// does.
public struct ThreadActivity: Sendable {
    private let clock: clockid_t
    /// The thread's state is the third word in this file.
    private let statusPath: String

    /// The activity of the calling thread.
    public init() {
        var clock = clockid_t()
        pthread_getcpuclockid(pthread_self(), &clock)
        self.clock = clock
        var target = [CChar](repeating: 0, count: 64)
        // `1234/task/1235`
        let count = readlink("/proc/thread-self", &target, target.count - 1)
        let text = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        statusPath = "/proc/\(text)/stat"
    }

    /// The processor time that the thread has used. It stays constant after the thread ends.
    public var usedNanoseconds: UInt64 {
        var value = timespec()
        guard clock_gettime(clock, &value) == 0 else { return 0 }
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// Whether the thread only waits for a processor: a busy machine is not stalled storage.
    public var waitsForProcessor: Bool {
        guard let text = try? FileSystem.readVirtualFile(statusPath),
            // The program's name is in parentheses, and may contain some itself.
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return false }
        return text[end...].dropFirst(2).first == UInt8(ascii: "R")
    }
}

/// A value that several threads share, and for whose changes they can wait (a monitor: a mutex with a condition variable).
///
/// Also for the hot path: `Mutex` of Synchronization has the kernel hand it to the longest waiter, which costs a thread switch
/// each time. With it, four threads that shared one for every request were ten times slower.
///
/// `@unchecked Sendable`: only the holder of the mutex touches the value.
public final class Monitor<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    public init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        // These fail only for attributes that are not used here.
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Setting the clock back must not lengthen a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Reads or changes the value; wakes no thread.
    public func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Changes the value and wakes one waiting thread.
    public func changeWakingOne<Result>(_ body: (inout State) -> Result) -> Result {
        defer { pthread_cond_signal(condition) }
        return withLock(body)
    }

    /// Changes the value and wakes all waiting threads.
    public func changeWakingAll<Result>(_ body: (inout State) -> Result) -> Result {
        defer { pthread_cond_broadcast(condition) }
        return withLock(body)
    }

    /// Waits until `isReady`, then runs `body` before another thread can change the value.
    public func wait<Result>(until isReady: (State) -> Bool, _ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isReady(state) { pthread_cond_wait(condition, mutex) }
        return body(&state)
    }

    /// Waits until `isReady`, but no longer than `limit`.
    /// - Returns: whether it is.
    public func wait(until isReady: (State) -> Bool, forNanoseconds limit: UInt64) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = UInt64(deadline.tv_nsec) + limit
        deadline.tv_sec += Int(nanoseconds / 1_000_000_000)
        deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isReady(state) {
            if pthread_cond_timedwait(condition, mutex, &deadline) != 0 { return isReady(state) }
        }
        return true
    }
}

/// The heaps of malloc(3).
public enum Malloc {
    /// Makes all threads share one heap. By default glibc creates up to eight per core, and a thread cannot use memory that
    /// another one freed in its heap: a process that serves from many threads for weeks then keeps several times the memory it
    /// needs.
    ///
    /// Call it before other threads start; a no-op where the C library does not support it.
    public static func limitArenas() { _ = backupfs_limit_heaps(1) }

    /// Returns free memory to the system, also from between used blocks: for after a large task that will not repeat soon. Takes
    /// milliseconds.
    public static func trim() { backupfs_trim_heaps() }
}
