import BackupCore
import BackupRepository
import SystemIO

/// A backup that `mkdir` has begun. It runs in a thread of its own, and goes on when `mkdir` has answered before it is finished: the kernel keeps
/// `snapshots/` locked for as long as `mkdir` waits.
final class PendingBackup: Sendable {
    typealias Outcome = Result<MadeSnapshot, BackupError>

    private struct Progress {
        var hasBegun = false
        var outcome: Outcome?
    }

    /// What `mkdir` asked for.
    let requestedName: FileName
    /// Of its folder; it stays for as long as the store is mounted.
    let inode: InodeNumber
    let startedAt: Timestamp
    private let cancellation = Cancellation()
    private let progress = Monitor(Progress())
    private let pin = Monitor((isWanted: false, isSettled: false))
    private let currentName: Monitor<FileName>

    init(_ name: FileName, inode: InodeNumber, startedAt: Timestamp) {
        requestedName = name
        currentName = Monitor(name)
        self.inode = inode
        self.startedAt = startedAt
    }

    /// What it is called now: another backup may take the name that was asked for before this one is finished.
    var name: FileName { currentName.withLock { $0 } }

    func rename(_ name: FileName) { currentName.withLock { $0 = name } }

    /// Makes the backup, in the calling thread.
    func run(_ make: () throws(BackupError) -> MadeSnapshot) -> Outcome {
        Result { () throws(BackupError) in try cancellation.run(make) }
    }

    var isPinned: Bool { pin.withLock { $0.isWanted } }

    /// Has it pinned when it is made.
    /// - Returns: false when it is too late for that.
    /// - Throws: `busy` when it has been asked to end.
    func pin(_ isPinned: Bool) throws(BackupError) -> Bool {
        let isNoted: Bool? = pin.withLock { pin in
            guard !pin.isSettled else { return false }
            guard !isPinned || !cancellation.isCancelled else { return nil }
            pin.isWanted = isPinned
            return true
        }
        guard let isNoted else { throw endsAlready }
        return isNoted
    }

    /// What is said of it after it was asked to end.
    var endsAlready: BackupError {
        BackupError(
            .busy, "the backup has been asked to end, and still runs", path: name.description,
            remedy: "Wait a moment, and look again.")
    }

    /// - Returns: whether it is to be pinned; from now on that is asked of the backup itself.
    func settlePin() -> Bool {
        pin.withLock { pin in
            pin.isSettled = true
            return pin.isWanted
        }
    }

    /// It was pinned, or not any more, after it was asked for.
    func notePinned(_ isPinned: Bool) { pin.withLock { $0.isWanted = isPinned } }

    /// No other operation is in its way.
    func noteBegun() { progress.changeWakingAll { $0.hasBegun = true } }

    func end(_ outcome: Outcome) { progress.changeWakingAll { $0.outcome = outcome } }

    /// Asks it to end. What can no longer be taken back is finished.
    func cancel() { cancellation.request() }

    /// The same, unless it is to be kept.
    /// - Returns: whether it was asked.
    func cancelUnlessPinned() -> Bool {
        pin.withLock { pin in
            if !pin.isWanted { cancel() }
            return !pin.isWanted
        }
    }

    /// How it ended; `nil` while it runs.
    var result: Outcome? { progress.withLock { $0.outcome } }

    /// So often a thread that waits looks whether it should go on waiting.
    private static let turnNanoseconds: UInt64 = 50_000_000

    /// Waits until it has ended.
    /// - Parameters:
    ///   - limit: for how long at most, in seconds; `nil` for as long as it takes.
    ///   - isCancelled: whether to stop waiting at once.
    /// - Returns: how it ended; `nil` when it still runs.
    func wait(atMostSeconds limit: Double?, unless isCancelled: () -> Bool = { false }) -> Outcome? {
        wait(until: { $0.outcome != nil }, atMostSeconds: limit, unless: isCancelled)
        return result
    }

    /// Waits until no other operation can be in its way any more, or it has ended.
    func waitUntilBegun(atMostSeconds limit: Double, unless isCancelled: () -> Bool) {
        wait(until: { $0.hasBegun || $0.outcome != nil }, atMostSeconds: limit, unless: isCancelled)
    }

    private func wait(until isReached: (Progress) -> Bool, atMostSeconds limit: Double?, unless isCancelled: () -> Bool) {
        let deadline = limit.map { SystemClock.monotonicNanoseconds() + UInt64(max(0, $0) * 1e9) }
        while true {
            let now = SystemClock.monotonicNanoseconds()
            let left = deadline.map { $0 > now ? $0 - now : 0 } ?? Self.turnNanoseconds
            if progress.wait(until: isReached, forNanoseconds: min(left, Self.turnNanoseconds)) { return }
            if isCancelled() || (deadline.map { SystemClock.monotonicNanoseconds() >= $0 } ?? false) { return }
        }
    }
}
