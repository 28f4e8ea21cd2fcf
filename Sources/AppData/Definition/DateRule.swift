import BackupCore

/// Which dates a field takes.
public enum DateRule: Sendable, Equatable {
    case any
    /// Not later than now and 24 hours: clocks differ, and so do zones.
    case notInFuture
    /// Not later than so many years (of 365.25 days) from now: planned things.
    case withinYears(Int)

    private static let slackSeconds: Int64 = 86_400
    private static let yearSeconds: Int64 = 31_557_600

    /// The last moment that is allowed.
    func latest(now: Timestamp) -> Timestamp {
        switch self {
        case .any: Timestamp(seconds: .max, nanoseconds: 999_999_999)
        case .notInFuture: Timestamp(seconds: now.seconds + Self.slackSeconds, nanoseconds: now.nanoseconds)
        case .withinYears(let years):
            Timestamp(seconds: now.seconds + Int64(years) * Self.yearSeconds, nanoseconds: now.nanoseconds)
        }
    }
}
