/// Which dates a field takes.
public enum DateRule: Sendable, Equatable {
    case any
    /// Not later than now and 24 hours: clocks differ, and so do zones.
    case notInFuture
    /// Not later than so many years (of 365.25 days) from now: planned things.
    case withinYears(Int)

    static let futureSlackSeconds: Int64 = 86_400
    static let yearSeconds: Int64 = 31_557_600
}
