/// A point in time, in the file system's form: seconds since 1970-01-01T00:00:00Z and nanoseconds within the second.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Rounded down: negative before 1970.
    public let seconds: Int64
    /// 0 to 999,999,999, also before 1970: -0.5 s is `seconds` -1 and 500,000,000 ns.
    public let nanoseconds: UInt32

    public init(seconds: Int64, nanoseconds: UInt32 = 0) {
        precondition(nanoseconds < 1_000_000_000, "nanoseconds are within one second")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// The same instant without the fraction of the second.
    public var wholeSeconds: Timestamp { Timestamp(seconds: seconds) }
}

extension Timestamp {
    /// The times that a date with a four-digit year can express: from 0000-01-01T00:00:00Z to the end of 9999.
    public static let calendarSeconds: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Whether it can be written as a date.
    public var isWithinCalendar: Bool { Self.calendarSeconds.contains(seconds) }

    /// The nearest time that can be written as a date.
    public var withinCalendar: Timestamp {
        if seconds < Self.calendarSeconds.lowerBound { return Timestamp(seconds: Self.calendarSeconds.lowerBound) }
        if seconds > Self.calendarSeconds.upperBound { return Timestamp(seconds: Self.calendarSeconds.upperBound) }
        return self
    }

    /// Whole seconds from `other` to this, negative when this is earlier.
    public func secondsSince(_ other: Timestamp) -> Int64 { seconds.subtractingSaturating(other.seconds) }

    /// This time plus `count` seconds.
    public func adding(seconds count: Int64) -> Timestamp {
        Timestamp(seconds: seconds.addingSaturating(count), nanoseconds: nanoseconds)
    }
}

/// The units of durations, the same everywhere: schedules, retention rules, limits, waits.
///
/// `m` alone is months in restic's `--keep-within` and minutes in systemd: it keeps its meaning where only one of them makes
/// sense, and is refused elsewhere.
public enum TimeUnit: String, CaseIterable, Sendable {
    case seconds = "s"
    case minutes = "min"
    case hours = "h"
    case days = "d"
    case weeks = "w"
    case months = "mo"
    case years = "y"

    private static let numberLimit = 1_000_000

    /// The length; `nil` for units whose length varies in the calendar.
    public var secondCount: Int64? {
        switch self {
        case .seconds: 1
        case .minutes: 60
        case .hours: 3_600
        case .days: 86_400
        case .weeks: 604_800
        case .months, .years: nil
        }
    }

    /// Parses `1y6mo`, `30d12h`, `90min`: the whole text must consist of numbers, each followed by a unit.
    /// - Parameter ambiguous: the meaning of `m`; `nil` where it could be either.
    /// - Returns: `nil` for an invalid duration.
    public static func parts(of text: String, m ambiguous: TimeUnit?) -> [(number: Int, unit: TimeUnit)]? {
        var rest = text[...]
        var parts: [(number: Int, unit: TimeUnit)] = []
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { !($0.isASCII && $0.isNumber) }
            rest = rest.dropFirst(letters.count)
            guard let number = Int(digits), number <= numberLimit,
                let unit = letters == "m" ? ambiguous : TimeUnit(rawValue: String(letters))
            else { return nil }
            parts.append((number, unit))
        }
        return parts.isEmpty ? nil : parts
    }
}
