import AppData
import BackupCore
import SystemIO

/// The state of a store's schedule: `schedule.state`, text lines of the form `key: value`.
struct ScheduleState: Sendable, Equatable {
    /// The outcome of an automatic backup.
    enum Result: String, Sendable {
        case made
        /// Nothing had changed.
        case skipped
        case failed
    }

    /// The schedule that `handledAt` belongs to: a different one starts over.
    var schedule: String
    /// Backups that were due until then have been made.
    var handledAt: Timestamp
    /// When the clock was first seen to be behind `handledAt`. It is saved: a time computed from the present time alone would
    /// move with each check.
    var clockBehindSince: Timestamp?
    var result: Result?
    var finishedAt: Timestamp?
    /// Consecutive failures.
    var failureCount = 0
    /// When a backup that failed or gave way is retried.
    var retryAt: Timestamp?
    /// Backups were removed whose space is not yet freed.
    var needsPrune = false
    var prunedAt: Timestamp?

    init(schedule: String, handledAt: Timestamp) {
        self.schedule = schedule
        self.handledAt = handledAt
    }

    /// - Returns: `nil` when there is none, or it cannot be read.
    static func read(_ path: String) -> ScheduleState? {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 16) else { return nil }
        let record = KeyValueRecord(decoding: bytes, dropsSpaces: true)
        guard let schedule = record["schedule"], let handledAt = record.time("handled-at") else { return nil }
        var state = ScheduleState(schedule: schedule, handledAt: handledAt)
        state.clockBehindSince = record.time("clock-behind-since")
        state.result = record["result"].flatMap { Result(rawValue: $0) }
        state.finishedAt = record.time("finished-at")
        state.failureCount = max(0, record.number("failures") ?? 0)
        state.retryAt = record.time("retry-at")
        state.needsPrune = record.flag("needs-prune") == true
        state.prunedAt = record.time("pruned-at")
        return state
    }

    func write(to path: String) throws(BackupError) {
        var record = KeyValueRecord()
        record.append("schedule", schedule)
        record.append("handled-at", handledAt)
        record.append("clock-behind-since", clockBehindSince)
        record.append("result", result?.rawValue)
        record.append("finished-at", finishedAt)
        if failureCount > 0 { record.append("failures", failureCount) }
        record.append("retry-at", retryAt)
        if needsPrune { record.append("needs-prune", true) }
        record.append("pruned-at", prunedAt)
        try FileSystem.writeFileAtomically(path, record.encoded)
    }
}

/// How the schedule handles times recorded by a clock that was ahead.
extension ScheduleState {
    static let firstRetrySeconds: Int64 = 300
    static let longestRetrySeconds: Int64 = 6 * 3600
    /// A clock that is behind for up to this time may have started without a battery, and the network will correct it. After
    /// that, the clock that recorded the state counts as the wrong one.
    private static let clockWaitSeconds: Int64 = 3600

    /// The same state, plus what must be saved about a clock that is behind it.
    func believed(at now: Timestamp) -> ScheduleState {
        var state = self
        // A clock that goes back further restarts the wait.
        state.clockBehindSince = handledAt > now ? min(clockBehindSince ?? now, now) : nil
        if let retryAt, retryAt.secondsSince(now) > Self.longestRetrySeconds {
            state.retryAt = now.adding(seconds: Self.firstRetrySeconds)
        }
        return state
    }

    /// When the next backup is due.
    /// - Returns: a time that may be in the past; `nil` for never.
    func next(of schedule: Schedule) -> Timestamp? {
        guard schedule != .off else { return nil }
        return [regular(schedule), retryAt].compactMap { $0 }.min()
    }

    private func regular(_ schedule: Schedule) -> Timestamp? {
        guard let since = clockBehindSince else { return schedule.next(after: handledAt) }
        guard handledAt.secondsSince(since) > RetentionGuard.behindSeconds else {
            // A daily backup that was made is not repeated; an interval has the same length by any clock.
            if case .interval = schedule { return schedule.next(after: since) }
            return schedule.next(after: handledAt)
        }
        // It is unknown how long ago the last one was, so the next does not wait for a whole period.
        let soon = since.adding(seconds: Self.clockWaitSeconds)
        return schedule.next(after: since).map { min($0, soon) }
    }

    /// Records a failure: the backup is no longer due by the schedule, but retried with exponential backoff.
    mutating func noteFailure(at now: Timestamp) {
        result = .failed
        failureCount = failureCount.addingSaturating(1)
        let doublings = min(failureCount - 1, 10)
        let delay = min(Self.firstRetrySeconds << Int64(doublings), Self.longestRetrySeconds)
        retryAt = Timestamp(seconds: now.seconds + delay)
        finishedAt = SystemClock.now()
        noteHandled(at: now)
    }

    mutating func noteHandled(at now: Timestamp) {
        handledAt = now
        clockBehindSince = nil
    }
}
