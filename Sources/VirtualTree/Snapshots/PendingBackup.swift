import BackupCore
import BackupRepository
import SystemIO

/// A backup started by `mkdir`. It runs in its own thread and continues if `mkdir` returns
/// before it is finished: the kernel keeps `snapshots/` locked as long as `mkdir` waits.
final class PendingBackup: Sendable {
    typealias Outcome = Result<MadeSnapshot, BackupError>

    private struct Progress {
        var hasBegun = false
        var outcome: Outcome?
    }

    /// The name requested by `mkdir`.
    let requestedName: FileName
    /// The number of its folder; it stays the same during the mount.
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

    /// Its current name: another backup may take the requested one before this one is finished.
    var name: FileName { currentName.withLock { $0 } }

    func rename(_ name: FileName) { currentName.withLock { $0 = name } }

    /// Makes the backup, on the calling thread.
    func run(_ make: () throws(BackupError) -> MadeSnapshot) -> Outcome {
        Result { () throws(BackupError) in try cancellation.run(make) }
    }

    var isPinned: Bool { pin.withLock { $0.isWanted } }

    /// Sets whether it is pinned once it is made.
    /// - Returns: false when it is too late for that.
    /// - Throws: `busy` when it has been cancelled.
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

    /// The error for requests after a cancellation.
    var endsAlready: BackupError {
        BackupError(
            .busy, "the backup has been asked to end, and still runs", path: name.description,
            remedy: "Wait a moment, and look again.")
    }

    /// - Returns: whether to pin it; later changes of the pin go to the backup itself.
    func settlePin() -> Bool {
        pin.withLock { pin in
            pin.isSettled = true
            return pin.isWanted
        }
    }

    /// Records a change of the pin after `settlePin`.
    func notePinned(_ isPinned: Bool) { pin.withLock { $0.isWanted = isPinned } }

    /// The backup has started: no other operation blocks it.
    func noteBegun() { progress.changeWakingAll { $0.hasBegun = true } }

    func end(_ outcome: Outcome) { progress.changeWakingAll { $0.outcome = outcome } }

    /// Cancels it. Steps that cannot be undone any more are finished.
    func cancel() { cancellation.request() }

    /// Cancels it unless it is to be pinned.
    /// - Returns: whether it was cancelled.
    func cancelUnlessPinned() -> Bool {
        pin.withLock { pin in
            if !pin.isWanted { cancel() }
            return !pin.isWanted
        }
    }

    /// Its result; `nil` while it runs.
    var result: Outcome? { progress.withLock { $0.outcome } }

    /// How often a waiting thread checks whether to continue waiting.
    private static let turnNanoseconds: UInt64 = 50_000_000

    /// Waits until it has ended.
    /// - Parameters:
    ///   - limit: the maximum time in seconds; `nil` for no limit.
    ///   - isCancelled: whether to stop waiting immediately.
    /// - Returns: its result; `nil` when it still runs.
    func wait(atMostSeconds limit: Double?, unless isCancelled: () -> Bool = { false }) -> Outcome? {
        wait(until: { $0.outcome != nil }, atMostSeconds: limit, unless: isCancelled)
        return result
    }

    /// Waits until no other operation can block it any more, or it has ended.
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
