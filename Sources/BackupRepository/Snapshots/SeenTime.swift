import BackupCore

/// How much time has passed, judging by the times at which the clock was seen. A machine that was off for a week looks like a clock that jumped a week ahead.
struct SeenTime: Sendable {
    /// Two days.
    private static let shortestStepSeconds: Int64 = 2 * 86_400

    /// Ascending; the last one is now.
    private let times: [Timestamp]
    private let believedStepSeconds: Int64

    /// - Parameter believedStepSeconds: intervals up to this length always count in full.
    init(_ times: [Timestamp], now: Timestamp, believedStepSeconds: Int64) {
        self.times = times.filter { $0 < now }.sorted() + [now]
        self.believedStepSeconds = believedStepSeconds
    }

    /// - Returns: whether `seconds` have passed, where each longer interval counts for at most a quarter of them, or two days.
    func isPast(_ seconds: Int64, after start: Timestamp) -> Bool {
        let longestStep = max(Self.shortestStepSeconds, seconds / 4)
        var rest = seconds
        var previous = start
        for time in times[times.partitioningIndex { start < $0 }...] {
            guard rest > 0 else { return true }
            let step = time.secondsSince(previous)
            rest = rest.subtractingSaturating(step <= believedStepSeconds ? step : min(longestStep, step))
            previous = time
        }
        return rest <= 0
    }
}
