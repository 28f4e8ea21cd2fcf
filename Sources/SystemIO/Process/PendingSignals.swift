import Glibc

/// Signals of this process that no thread handles: the thread that the kernel chose for them is blocked in the kernel on storage that does not answer,
/// and the kernel chooses no other. For use in one thread, which blocks these signals for itself.
struct PendingSignals {
    private let watched: sigset_t
    private var wasPending = false

    init() {
        watched = CancellingSignals.set
        var mask = watched
        pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    /// Takes a signal that was already pending at the last call. Call it a few times a second.
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
