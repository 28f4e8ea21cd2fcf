import BackupCore
import Synchronization
import SystemIO

/// Transfers many objects, a few at a time: packs are large, and a server answers each after it is stored.
struct ParallelTransfer: Sendable {
    private static let parallelCount = 4

    let phase: Message
    let progress: ProgressHandler?

    /// Calls `transfer` for each item, also on other threads, as part of the operation of this thread.
    /// - Parameter sizeBytes: for the progress.
    /// - Throws: the first error; transfers that have not begun then do not begin.
    func run<Item: Sendable>(
        _ items: [Item], sizeBytes: @escaping @Sendable (Item) -> UInt64,
        _ transfer: @escaping @Sendable (Item) throws(BackupError) -> Void
    ) throws(BackupError) {
        let totalBytes = items.reduce(UInt64(0)) { $0 + sizeBytes($1) }
        let done = Mutex((count: 0, bytes: UInt64(0)))
        let cancellation = Cancellation.current ?? Cancellation()
        // The calling thread helps.
        let pool = WorkerPool(threadCount: Self.parallelCount - 1, queueLimit: Self.parallelCount)
        defer { pool.end() }
        let group = WorkGroup(pool)
        for item in items {
            try Cancellation.check()
            if group.hasFailed { break }
            group.submit { () throws(BackupError) in
                try cancellation.run { () throws(BackupError) in try transfer(item) }
                let (count, bytes) = done.withLock { done in
                    done.count += 1
                    done.bytes += sizeBytes(item)
                    return done
                }
                progress?(
                    OperationProgress(
                        phase: phase, processedItems: UInt64(count), totalItems: UInt64(items.count), processedBytes: bytes,
                        totalBytes: totalBytes))
            }
        }
        try group.wait()
    }
}
