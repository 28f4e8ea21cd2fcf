import Glibc

/// A value that several threads share, and for whose changes they can wait (a monitor: a mutex with a condition variable).
///
/// Also for the hot path: `Mutex` of Synchronization has the kernel hand it to the longest waiter, which costs a thread switch each time. With it, four
/// threads that shared one for every request were ten times slower.
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
