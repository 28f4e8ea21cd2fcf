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
        submitRegardless { [self] in
            guard !hasFailed else { return }
            do throws(BackupError) {
                try work()
            } catch {
                fail(error)
            }
        }
    }

    /// The same for work that also runs after a failure, since others wait for what it gives back.
    func submitRegardless(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.unfinishedCount += 1 }
        pool.submit { [self] in
            work()
            state.changeWakingAll { $0.unfinishedCount -= 1 }
        }
    }

    /// A block; while all are in use, the calling thread does work of the pool, which may be what holds them: there may be no other thread.
    public func take(from blocks: BlockPool) -> BlockPool.Block {
        while true {
            if let block = blocks.takeFree() { return block }
            if !pool.help() { return blocks.take() }
        }
    }

    /// Notes a failure of the thread that hands in the work. The first one counts.
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
