/// Arithmetic with untrusted numbers from files: saturates at the end of the range, where `+` and similar operators would end the process.
extension FixedWidthInteger {
    public func addingSaturating(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }

    public func subtractingSaturating(_ other: Self) -> Self {
        let (difference, overflows) = subtractingReportingOverflow(other)
        guard overflows else { return difference }
        return other > 0 ? .min : .max
    }

    public func multipliedSaturating(by other: Self) -> Self {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        guard overflows else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
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
