import BackupCore

/// How much time has passed as far as the clock was seen to go on: a machine that was off for a week, and a clock that jumped a week ahead, look the same.
struct SeenTime: Sendable {
    /// Two days.
    private static let shortestStepSeconds: Int64 = 2 * 86_400

    /// Ascending; the last one is now.
    private let times: [Timestamp]

    init(_ times: [Timestamp], now: Timestamp) { self.times = times.filter { $0 < now }.sorted() + [now] }

    /// - Returns: whether so many seconds have passed, of each step between two times at most a quarter of them, or two days.
    func isPast(_ seconds: Int64, after start: Timestamp) -> Bool {
        let longestStep = max(Self.shortestStepSeconds, seconds / 4)
        var rest = seconds
        var previous = start
        for time in times[times.partitioningIndex { start < $0 }...] {
            guard rest > 0 else { return true }
            rest = rest.subtractingSaturating(min(longestStep, time.secondsSince(previous)))
            previous = time
        }
        return rest <= 0
    }
}
