import Glibc

/// Signals of this process that no thread takes: the one that the kernel has woken for them waits in the kernel for storage that does not answer, and
/// no other is asked. For one thread, which keeps them from itself.
struct PendingSignals {
    private let watched: sigset_t
    private var wasPending = false

    init() {
        watched = CancellingSignals.set
        var mask = watched
        pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    /// Takes one that was there at the last look already. Call it a few times a second.
    mutating func take() -> Bool {
        var pending = sigset_t()
        guard sigpending(&pending) == 0 else { return false }
        let isPending = (1..<Int32(32)).contains { signal in
            withUnsafePointer(to: watched) { sigismember($0, signal) == 1 } && sigismember(&pending, signal) == 1
        }
        defer { wasPending = isPending }
        guard isPending, wasPending else { return false }
        var now = timespec()
        return withUnsafePointer(to: watched) { sigtimedwait($0, nil, &now) } > 0
    }
}
