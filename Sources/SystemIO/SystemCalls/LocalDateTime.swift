import BackupCore
import Glibc

/// What a calendar and a clock on the wall show: a date of the proleptic Gregorian calendar and a time of day.
public struct LocalDateTime: Sendable, Equatable {
    /// Years before 1 count down from 0.
    public var year: Int
    /// 1 to 12.
    public var month: Int
    /// From 1 on.
    public var day: Int
    /// 0 to 23.
    public var hour: Int
    /// 0 to 59.
    public var minute: Int
    /// 0 to 60: there are leap seconds.
    public var second: Int

    public init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// In the local time zone.
    public init(_ time: Timestamp) {
        var seconds = time_t(time.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        self.init(parts)
    }

    private init(_ parts: tm) {
        self.init(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday), hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min), second: Int(parts.tm_sec))
    }

    /// In UTC.
    public init(utc time: Timestamp) {
        let (day, second) = Int(time.seconds).quotientAndRemainder(dividingBy: 86_400)
        let (dayNumber, secondOfDay) = second < 0 ? (day - 1, second + 86_400) : (day, second)
        self.init(dayNumber: dayNumber)
        (hour, minute, self.second) = (secondOfDay / 3_600, secondOfDay / 60 % 60, secondOfDay % 60)
    }

    /// The seconds since 1970 when UTC shows it.
    public var utcSeconds: Int64 { Int64(dayNumber * 86_400 + hour * 3_600 + minute * 60 + second) }

    // MARK: The calendar

    /// The start of a day (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
    /// - Parameter days: since 1970-01-01.
    public init(dayNumber days: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month, day: dayOfYear - (153 * monthIndex + 2) / 5 + 1)
    }

    /// Days since 1970-01-01 (days_from_civil in the same paper).
    public var dayNumber: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Whether the calendar has the day, and the clock the time. Excludes leap seconds.
    public var exists: Bool {
        (1...12).contains(month) && (1...31).contains(day) && LocalDateTime(dayNumber: dayNumber).day == day
            && (0..<24).contains(hour) && (0..<60).contains(minute) && (0..<60).contains(second)
    }

    /// 0 is Monday.
    public var weekday: Int { ((dayNumber + 3) % 7 + 7) % 7 }

    /// Year, month and day as one number.
    public var date: Int { year * 10_000 + month * 100 + day }

    /// Year and ISO 8601 week number: a week begins on Monday, and belongs to the year of its Thursday.
    public var isoWeek: Int {
        let thursday = dayNumber - weekday + 3
        let year = LocalDateTime(dayNumber: thursday).year
        return year * 100 + (thursday - LocalDateTime(year: year, month: 1, day: 1).dayNumber) / 7 + 1
    }

    // MARK: The local time zone

    /// The time in seconds since 1970; the first one if the clock shows it twice, when DST ends.
    /// - Returns: also whether the clock shows that time at all: when DST begins, it skips some, and the result is later by the
    ///   skipped amount.
    public var instant: (seconds: Int64, exists: Bool) {
        // DST first: where both exist, it is the earlier one.
        for isSummerTime: Int32 in [1, 0] {
            let (seconds, found) = instant(isSummerTime: isSummerTime)
            if found == self { return (seconds, true) }
        }
        return (instant(isSummerTime: 0).seconds, false)
    }

    /// The seconds since 1970 at this time of day on an earlier date. A date that does not exist rolls over, as in mktime(3):
    /// February 30 becomes March 2 or 1.
    public func seconds(earlierByYears years: Int, months: Int, days: Int) -> Int64 {
        var earlier = self
        earlier.year -= years
        earlier.month -= months
        earlier.day -= days
        // That day decides whether DST applies.
        return earlier.instant(isSummerTime: -1).seconds
    }

    /// - Parameter isSummerTime: `tm_isdst` of mktime(3).
    private func instant(isSummerTime: Int32) -> (seconds: Int64, found: LocalDateTime) {
        var parts = tm()
        parts.tm_year = Int32(year - 1900)
        parts.tm_mon = Int32(month - 1)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        parts.tm_sec = Int32(second)
        parts.tm_isdst = isSummerTime
        let seconds = mktime(&parts)
        return (Int64(seconds), LocalDateTime(parts))
    }

    // MARK: Texts

    /// `2026-01-11`.
    public var dateText: String { "\(Self.padded(year, 4))-\(Self.padded(month))-\(Self.padded(day))" }

    /// `14:30:00`.
    public func timeText(_ separator: String) -> String {
        "\(Self.padded(hour))\(separator)\(Self.padded(minute))\(separator)\(Self.padded(second))"
    }

    /// The number with zeros in front, up to `width` digits.
    public static func padded(_ value: Int, _ width: Int = 2) -> String {
        let text = String(value)
        return text.count >= width ? text : String(repeating: "0", count: width - text.count) + text
    }
}
