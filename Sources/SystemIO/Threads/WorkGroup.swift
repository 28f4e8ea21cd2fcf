import BackupCore

/// Related work in a pool: a thread can wait for it, and gets its first failure. After a failure, work that has not begun is skipped.
public final class WorkGroup: Sendable {
    private struct State {
        var unfinishedCount = 0
        var failure: BackupError?
    }

    private let pool: WorkerPool
    private let state = Monitor(State())

    public init(_ pool: WorkerPool) { self.pool = pool }

    public var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Submits work, or runs it in the caller when the pool's queue is full.
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

    /// The same for work that also runs after a failure, since other threads wait for what it releases.
    func submitRegardless(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.unfinishedCount += 1 }
        pool.submit { [self] in
            work()
            state.changeWakingAll { $0.unfinishedCount -= 1 }
        }
    }

    /// Returns a block. While all are in use, the calling thread runs work of the pool, which may hold them: there may be no other thread.
    public func take(from blocks: BlockPool) -> BlockPool.Block {
        while true {
            if let block = blocks.takeFree() { return block }
            if !pool.help() { return blocks.take() }
        }
    }

    /// Records a failure of the submitting thread. The first one counts.
    public func fail(_ error: BackupError) {
        state.withLock { if $0.failure == nil { $0.failure = error } }
    }

    /// Waits for all submitted work, including work that other work of the group submitted.
    /// - Throws: the first failure.
    public func wait() throws(BackupError) {
        while state.withLock({ $0.unfinishedCount > 0 }), pool.help() {}
        let failure = state.wait(until: { $0.unfinishedCount == 0 }, { $0.failure })
        if let failure { throw failure }
    }
}
