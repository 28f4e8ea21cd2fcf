import BackupCore

/// The dates that a field accepts.
public enum DateRule: Sendable, Equatable {
    case any
    /// At most 24 hours from now: clocks and time zones differ.
    case notInFuture
    /// At most this many years (of 365.25 days) from now: for planned events.
    case withinYears(Int)

    private static let slackSeconds: Int64 = 86_400
    private static let yearSeconds: Int64 = 31_557_600

    /// The latest allowed moment.
    func latest(now: Timestamp) -> Timestamp {
        switch self {
        case .any: Timestamp(seconds: .max, nanoseconds: 999_999_999)
        case .notInFuture: Timestamp(seconds: now.seconds + Self.slackSeconds, nanoseconds: now.nanoseconds)
        case .withinYears(let years):
            Timestamp(seconds: now.seconds + Int64(years) * Self.yearSeconds, nanoseconds: now.nanoseconds)
        }
    }
}
