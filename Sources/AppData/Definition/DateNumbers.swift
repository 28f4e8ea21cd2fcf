/// What a number means where a date is expected.
public enum DateNumbers: String, Sendable, CaseIterable {
    /// Seconds since 2001-01-01T00:00:00Z, as Foundation's encoders write dates unless they are told otherwise.
    case secondsSince2001
}
