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
        var values: [Substring: String] = [:]
        let text = String(decoding: bytes, as: UTF8.self)
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        guard let schedule = values["schedule"], let handledAt = values["handled-at"].flatMap({ ISO8601.parse($0) }) else {
            return nil
        }
        var state = ScheduleState(schedule: schedule, handledAt: handledAt)
        state.clockBehindSince = values["clock-behind-since"].flatMap { ISO8601.parse($0) }
        state.result = values["result"].flatMap { Result(rawValue: $0) }
        state.finishedAt = values["finished-at"].flatMap { ISO8601.parse($0) }
        state.failureCount = max(0, values["failures"].flatMap { Int($0) } ?? 0)
        state.retryAt = values["retry-at"].flatMap { ISO8601.parse($0) }
        state.needsPrune = values["needs-prune"] == "yes"
        state.prunedAt = values["pruned-at"].flatMap { ISO8601.parse($0) }
        return state
    }

    func write(to path: String) throws(BackupError) {
        var lines = ["schedule: \(schedule)", "handled-at: \(ISO8601.format(handledAt))"]
        if let clockBehindSince { lines.append("clock-behind-since: \(ISO8601.format(clockBehindSince))") }
        if let result { lines.append("result: \(result.rawValue)") }
        if let finishedAt { lines.append("finished-at: \(ISO8601.format(finishedAt))") }
        if failureCount > 0 { lines.append("failures: \(failureCount)") }
        if let retryAt { lines.append("retry-at: \(ISO8601.format(retryAt))") }
        if needsPrune { lines.append("needs-prune: yes") }
        if let prunedAt { lines.append("pruned-at: \(ISO8601.format(prunedAt))") }
        try FileSystem.writeFileAtomically(path, Array((lines.joined(separator: "\n") + "\n").utf8))
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
