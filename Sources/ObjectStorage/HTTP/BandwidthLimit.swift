import BackupCore
import Synchronization
import SystemIO

/// Limits the bytes per second of all transfers that share it, in one direction.
final class BandwidthLimit: Sendable {
    /// A wait is divided so that it notices a cancellation and a new limit.
    private static let longestWaitNanoseconds: UInt64 = 100_000_000

    private struct Weak {
        weak var limit: BandwidthLimit?
    }

    private static let groups = Mutex<[String: Weak]>([:])

    private let bucket: Monitor<TokenBucket>

    /// The limit that all of a group share, as long as one of them is there. The rate is the one that was given last.
    /// - Parameter group: `nil` for a limit of its own.
    static func of(_ group: String?, _ bytesPerSecond: UInt64?) -> BandwidthLimit {
        guard let group else { return BandwidthLimit(bytesPerSecond: bytesPerSecond) }
        let limit = groups.withLock { groups in
            if let known = groups[group]?.limit { return known }
            groups = groups.filter { $0.value.limit != nil }
            let new = BandwidthLimit(bytesPerSecond: bytesPerSecond)
            groups[group] = Weak(limit: new)
            return new
        }
        limit.change(bytesPerSecond: bytesPerSecond)
        return limit
    }

    /// - Parameter bytesPerSecond: `nil` for no limit.
    init(bytesPerSecond: UInt64?) {
        bucket = Monitor(TokenBucket(bytesPerSecond: bytesPerSecond, now: SystemClock.monotonicNanoseconds()))
    }

    /// Also for transfers that wait now.
    func change(bytesPerSecond: UInt64?) {
        bucket.changeWakingAll { $0.change(bytesPerSecond: bytesPerSecond, now: SystemClock.monotonicNanoseconds()) }
    }

    /// The largest piece that is sensible at once: of a tenth of a second.
    func pieceSize(atMost count: Int) -> Int { bucket.withLock { $0.pieceSize(atMost: count) } }

    /// Counts bytes, and waits until the limit permits more.
    func wait(afterBytes count: Int) throws(BackupError) {
        let start = SystemClock.monotonicNanoseconds()
        var delay = bucket.withLock { (bucket: inout TokenBucket) -> UInt64 in
            bucket.take(count, now: start)
            return bucket.delayNanoseconds(now: start)
        }
        while delay > 0 {
            try Cancellation.check()
            _ = bucket.wait(until: { _ in false }, forNanoseconds: min(delay, Self.longestWaitNanoseconds))
            delay = bucket.withLock { $0.delayNanoseconds(now: SystemClock.monotonicNanoseconds()) }
        }
    }
}

/// The arithmetic of `BandwidthLimit`: a debt in bytes that shrinks with time. Up to a fifth of a second's bytes can be saved for
/// later.
struct TokenBucket {
    private static let savedSeconds = 0.2

    private var bytesPerSecond: Double?
    /// Negative for saved bytes.
    private var debtBytes = 0.0
    private var settledAt: UInt64

    /// - Parameter now: in nanoseconds, like in all calls.
    init(bytesPerSecond: UInt64?, now: UInt64) {
        self.bytesPerSecond = bytesPerSecond.map { Double(max(1, $0)) }
        settledAt = now
    }

    mutating func change(bytesPerSecond: UInt64?, now: UInt64) {
        settle(now)
        self.bytesPerSecond = bytesPerSecond.map { Double(max(1, $0)) }
        if bytesPerSecond == nil { debtBytes = 0 }
    }

    mutating func take(_ count: Int, now: UInt64) {
        settle(now)
        if bytesPerSecond != nil { debtBytes += Double(count) }
    }

    /// How long to wait until the debt is paid.
    func delayNanoseconds(now: UInt64) -> UInt64 {
        var settled = self
        settled.settle(now)
        guard let bytesPerSecond, settled.debtBytes > 0 else { return 0 }
        return UInt64((settled.debtBytes / bytesPerSecond * 1e9).rounded(.up))
    }

    func pieceSize(atMost count: Int) -> Int {
        guard let bytesPerSecond else { return count }
        return max(1, min(count, Int(min(bytesPerSecond / 10, Double(Int32.max)))))
    }

    private mutating func settle(_ now: UInt64) {
        guard now > settledAt else { return }
        let seconds = Double(now - settledAt) / 1e9
        settledAt = now
        guard let bytesPerSecond else { return }
        debtBytes = max(debtBytes - seconds * bytesPerSecond, -Self.savedSeconds * bytesPerSecond)
    }
}
