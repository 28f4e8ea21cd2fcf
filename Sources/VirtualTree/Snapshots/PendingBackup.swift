import BackupCore
import BackupRepository
import SystemIO

/// A backup that `mkdir` has begun. It runs in a thread of its own, and goes on when `mkdir` has answered before it is finished: the kernel keeps
/// `snapshots/` locked for as long as `mkdir` waits.
final class PendingBackup: Sendable {
    typealias Outcome = Result<MadeSnapshot, BackupError>

    let name: FileName
    /// Of its folder; it stays for as long as the store is mounted.
    let inode: InodeNumber
    let startedAt: Timestamp
    private let cancellation = Cancellation()
    private let outcome = Monitor<Outcome?>(nil)
    private let pin = Monitor((isWanted: false, isSettled: false))

    init(_ name: FileName, inode: InodeNumber, startedAt: Timestamp) {
        self.name = name
        self.inode = inode
        self.startedAt = startedAt
    }

    /// Makes the backup, in the calling thread.
    func run(_ make: () throws(BackupError) -> MadeSnapshot) -> Outcome {
        Result { () throws(BackupError) in try cancellation.run(make) }
    }

    var isPinned: Bool { pin.withLock { $0.isWanted } }

    /// Has it pinned when it is made.
    /// - Returns: false when it is too late for that.
    func pin(_ isPinned: Bool) -> Bool {
        pin.withLock { pin in
            if !pin.isSettled { pin.isWanted = isPinned }
            return !pin.isSettled
        }
    }

    /// - Returns: whether it is to be pinned; from now on that is asked of the backup itself.
    func settlePin() -> Bool {
        pin.withLock { pin in
            pin.isSettled = true
            return pin.isWanted
        }
    }

    func end(_ outcome: Outcome) { self.outcome.changeWakingAll { $0 = outcome } }

    /// Asks it to end. What can no longer be taken back is finished.
    func cancel() { cancellation.request() }

    /// How it ended; `nil` while it runs.
    var result: Outcome? { outcome.withLock { $0 } }

    /// So often a thread that waits looks whether it should go on waiting.
    private static let turnNanoseconds: UInt64 = 50_000_000

    /// Waits until it has ended.
    /// - Parameters:
    ///   - limit: for how long at most, in seconds; `nil` for as long as it takes.
    ///   - isCancelled: whether to stop waiting at once.
    /// - Returns: how it ended; `nil` when it still runs.
    func wait(atMostSeconds limit: Double?, unless isCancelled: () -> Bool = { false }) -> Outcome? {
        let deadline = limit.map { SystemClock.monotonicNanoseconds() + UInt64(max(0, $0) * 1e9) }
        while true {
            let now = SystemClock.monotonicNanoseconds()
            let left = deadline.map { $0 > now ? $0 - now : 0 } ?? Self.turnNanoseconds
            if outcome.wait(until: { $0 != nil }, forNanoseconds: min(left, Self.turnNanoseconds)) { return result }
            if isCancelled() || (deadline.map { SystemClock.monotonicNanoseconds() >= $0 } ?? false) { return result }
        }
    }
}
