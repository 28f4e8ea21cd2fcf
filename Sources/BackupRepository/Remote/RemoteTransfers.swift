import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// The transfers of packs from one storage into a cache.
///
/// While the storage is offline, only one read after the other finds that out: the rest fails at once, so that a program that
/// looks at a hundred files does not wait for a hundred time limits.
final class RemoteTransfers: Sendable {
    /// How long a failure counts for all reads.
    private static let offlineNanoseconds: UInt64 = 5_000_000_000
    private static let threadCount = 3
    /// Further hints are dropped.
    private static let waitingLimit = 32

    private struct Queue {
        var waiting: [@Sendable () -> Void] = []
        var runningCount = 0
    }

    private let storage: any ObjectStorage
    private let offline = Mutex<(until: UInt64, error: BackupError)?>(nil)
    private let queue = Mutex(Queue())
    private let cachedBytes = Mutex(UInt64(0))
    /// Frees space of the cache; the argument says whether the disk is full.
    private let sweep = Mutex<(@Sendable (_ isFull: Bool) -> Bool)?>(nil)
    /// After how many transferred bytes the cache is swept.
    private let sweepIntervalBytes: UInt64

    init(_ storage: any ObjectStorage, sweepIntervalBytes: UInt64) {
        self.storage = storage
        self.sweepIntervalBytes = sweepIntervalBytes
    }

    var location: String { storage.location }

    /// - Parameter sweep: frees space, and returns whether it has. Called by transferring threads, with whether the disk is full.
    func useSweep(_ sweep: @escaping @Sendable (_ isFull: Bool) -> Bool) { self.sweep.withLock { $0 = sweep } }

    /// As `ObjectStorage.read`.
    func read(
        _ name: ObjectName, _ range: Range<UInt64>, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts {
        try asking { () throws(BackupError) in try storage.read(name, range: range, consume) }
    }

    private func asking<Answer>(_ body: () throws(BackupError) -> Answer) throws(BackupError) -> Answer {
        if let known = offline.withLock({ $0 }), SystemClock.monotonicNanoseconds() < known.until { throw known.error }
        do throws(BackupError) {
            let answer = try body()
            offline.withLock { $0 = nil }
            return answer
        } catch {
            if error.code == .offline {
                offline.withLock { $0 = (SystemClock.monotonicNanoseconds() + Self.offlineNanoseconds, error) }
            }
            throw error
        }
    }

    /// What the storage says of an object; `nil` if there certainly is none.
    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? {
        try asking { () throws(BackupError) in try storage.look(name) }
    }

    /// Ends the time in which reads fail at once: the storage has answered.
    func noteOnline() { offline.withLock { $0 = nil } }

    func noteCached(_ count: UInt64) {
        let isDue = cachedBytes.withLock { bytes in
            bytes += count
            guard bytes >= sweepIntervalBytes else { return false }
            bytes = 0
            return true
        }
        if isDue, let sweep = sweep.withLock({ $0 }) { _ = sweep(false) }
    }

    /// - Returns: whether the cache has given up other packs, on a full disk.
    func makeSpace() -> Bool { sweep.withLock { $0 }?(true) ?? false }

    /// Runs work on another thread, unless too much waits already.
    func inBackground(_ work: @escaping @Sendable () -> Void) {
        let startsThread = queue.withLock { queue in
            guard queue.waiting.count < Self.waitingLimit else { return false }
            queue.waiting.append(work)
            guard queue.runningCount < Self.threadCount else { return false }
            queue.runningCount += 1
            return true
        }
        guard startsThread else { return }
        do throws(BackupError) {
            try SystemThread { [self] in runWaiting() }.detach()
        } catch {
            // Only hints are lost.
            queue.withLock { $0.runningCount -= 1 }
        }
    }

    private func runWaiting() {
        while let work = queue.withLock({ queue -> (@Sendable () -> Void)? in
            if !queue.waiting.isEmpty { return queue.waiting.removeFirst() }
            queue.runningCount -= 1
            return nil
        }) {
            work()
        }
    }
}
