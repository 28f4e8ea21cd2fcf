import AppData
import BackupCore
import SystemIO

/// What the schedule makes of times that a clock has noted which was ahead.
extension ScheduleState {
    static let firstRetrySeconds: Int64 = 300
    static let longestRetrySeconds: Int64 = 6 * 3600
    /// So long a clock that is behind may be one that has just started without a battery and is put right by the network. After that the one that
    /// noted the state counts as the wrong one.
    private static let clockWaitSeconds: Int64 = 3600

    /// The same with what is to be written down of a clock that is behind it.
    func believed(at now: Timestamp) -> ScheduleState {
        var state = self
        // A clock that goes back again begins the wait again.
        state.clockBehindSince = handledAt > now ? min(clockBehindSince ?? now, now) : nil
        if let retryAt, retryAt.secondsSince(now) > Self.longestRetrySeconds {
            state.retryAt = now.adding(seconds: Self.firstRetrySeconds)
        }
        return state
    }

    /// When the next backup is due.
    /// - Returns: a time that may have passed already; `nil` for never.
    func next(of schedule: Schedule) -> Timestamp? {
        guard schedule != .off else { return nil }
        return [regular(schedule), retryAt].compactMap { $0 }.min()
    }

    private func regular(_ schedule: Schedule) -> Timestamp? {
        guard let since = clockBehindSince else { return schedule.next(after: handledAt) }
        guard handledAt.secondsSince(since) > RetentionGuard.behindSeconds else {
            // A day's backup that was made stays made; an interval is a length of time by any clock.
            if case .interval = schedule { return schedule.next(after: since) }
            return schedule.next(after: handledAt)
        }
        // It is not known how long ago the last one was, so the next does not wait for a whole period.
        let soon = since.adding(seconds: Self.clockWaitSeconds)
        return schedule.next(after: since).map { min($0, soon) }
    }

    /// One has failed: it is no longer due by the schedule, but is tried again later and later.
    mutating func noteFailure(at now: Timestamp) {
        result = .failed
        failureCount += 1
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
