import SystemIO

/// When progress is told: percentages never fall, and what changes none is told now and then only.
struct ProgressPace {
    private static let intervalNanoseconds: UInt64 = 50_000_000

    private var percent = 0
    private var lastReport: UInt64 = 0

    /// - Parameter always: whether it is told however little time has passed.
    /// - Returns: the percentage to tell; `nil` when it is too early to tell anything.
    mutating func next(_ reached: Int, always: Bool) -> Int? {
        let now = SystemClock.monotonicNanoseconds()
        guard always || reached > percent || now >= lastReport + Self.intervalNanoseconds else { return nil }
        percent = max(percent, reached)
        lastReport = now
        return percent
    }
}
