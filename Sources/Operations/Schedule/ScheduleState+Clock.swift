import AppData
import BackupCore
import SystemIO

/// How the schedule handles times recorded by a clock that was ahead.
extension ScheduleState {
    static let firstRetrySeconds: Int64 = 300
    static let longestRetrySeconds: Int64 = 6 * 3600
    /// A clock that is behind for up to this time may have started without a battery, and the network will correct it. After that, the clock that recorded the
    /// state counts as the wrong one.
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
