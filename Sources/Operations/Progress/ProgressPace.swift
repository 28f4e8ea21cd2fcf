import SystemIO

/// When to report progress: percentages never decrease, and reports without a change are rate-limited.
struct ProgressPace {
    private static let intervalNanoseconds: UInt64 = 50_000_000

    private var percent = 0
    private var lastReport: UInt64 = 0

    /// - Parameter always: whether to report regardless of the time passed.
    /// - Returns: the percentage to report; `nil` when it is too early for a report.
    mutating func next(_ reached: Int, always: Bool) -> Int? {
        let now = SystemClock.monotonicNanoseconds()
        guard always || reached > percent || now >= lastReport + Self.intervalNanoseconds else { return nil }
        percent = max(percent, reached)
        lastReport = now
        return percent
    }
}
