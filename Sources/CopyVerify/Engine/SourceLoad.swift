import Synchronization
import SystemIO

/// How the reader spends its time, and how far it is.
final class SourceLoad: Sendable {
    private let reading = Atomic<UInt64>(0)
    private let waiting = Atomic<UInt64>(0)
    private let bytes = Atomic<UInt64>(0)
    private let filesToCome = Atomic<UInt64>(0)
    private let bytesToCome = Atomic<UInt64>(0)

    /// A file is about to be read, in a job that did not know of it when it began.
    func expect(bytes count: UInt64) {
        filesToCome.add(1, ordering: .relaxed)
        bytesToCome.add(count, ordering: .relaxed)
    }

    var expectedFileCount: UInt64 { filesToCome.load(ordering: .relaxed) }
    var expectedBytes: UInt64 { bytesToCome.load(ordering: .relaxed) }

    func addReading(since start: UInt64) {
        reading.add(SystemClock.monotonicNanoseconds() - start, ordering: .relaxed)
    }

    func addWaiting(since start: UInt64) {
        waiting.add(SystemClock.monotonicNanoseconds() - start, ordering: .relaxed)
    }

    /// A block; the wait for it counts.
    func take(from pool: BlockPool) -> BlockPool.Block {
        let start = SystemClock.monotonicNanoseconds()
        defer { addWaiting(since: start) }
        return pool.take()
    }

    func add(bytes count: UInt64) { bytes.add(count, ordering: .relaxed) }

    var readBytes: UInt64 { bytes.load(ordering: .relaxed) }
    var readingNanoseconds: UInt64 { reading.load(ordering: .relaxed) }
    var waitingNanoseconds: UInt64 { waiting.load(ordering: .relaxed) }
}
