/// The meaning of a number where a date is expected.
public enum DateNumbers: String, Sendable, CaseIterable {
    /// Seconds since 2001-01-01T00:00:00Z, the default of Foundation's encoders for dates.
    case secondsSince2001
}
