import BackupCore

/// Work handed to a pool that belongs together: it can be waited for, and its first failure is what the waiting thread gets. After a
/// failure what has not begun is left out.
public final class WorkGroup: Sendable {
    private struct State {
        var unfinishedCount = 0
        var failure: BackupError?
    }

    private let pool: WorkerPool
    private let state = Monitor(State())

    public init(_ pool: WorkerPool) { self.pool = pool }

    public var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Hands in work, or does it when the pool's queue is full.
    public func submit(_ work: @escaping @Sendable () throws(BackupError) -> Void) {
        state.withLock { $0.unfinishedCount += 1 }
        pool.submit { [self] in
            var failure: BackupError?
            if !hasFailed {
                do throws(BackupError) {
                    try work()
                } catch {
                    failure = error
                }
            }
            finish(failure)
        }
    }

    private func finish(_ failure: BackupError?) {
        state.changeWakingAll { state in
            state.unfinishedCount -= 1
            if state.failure == nil { state.failure = failure }
        }
    }

    /// Notes a failure of the thread that hands in the work.
    public func fail(_ error: BackupError) {
        state.withLock { if $0.failure == nil { $0.failure = error } }
    }

    /// Waits for all work that was handed in, also by other work of the group.
    /// - Throws: the first failure.
    public func wait() throws(BackupError) {
        while state.withLock({ $0.unfinishedCount > 0 }), pool.help() {}
        let failure = state.wait(until: { $0.unfinishedCount == 0 }, { $0.failure })
        if let failure { throw failure }
    }
}
