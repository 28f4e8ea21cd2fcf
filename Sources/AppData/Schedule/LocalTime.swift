import BackupCore
import Glibc
import SystemIO

/// A day and a time of day in the local calendar and clock.
struct LocalTime {
    var year: Int
    var month: Int
    var day: Int
    var hour = 0
    var minute = 0
    var second = 0
}

extension LocalTime {
    init(_ time: Timestamp) {
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

    /// The time in seconds since 1970; the first one if the clock shows it twice, when DST ends.
    /// - Returns: also whether the clock shows that time at all: when DST begins, it skips some, and the result is later by the
    ///   skipped amount.
    var instant: (seconds: Int64, exists: Bool) {
        // DST first: where both exist, it is the earlier one.
        for isSummerTime: Int32 in [1, 0] {
            let (seconds, found) = instant(isSummerTime: isSummerTime)
            if found.isSame(as: self) { return (seconds, true) }
        }
        return (instant(isSummerTime: 0).seconds, false)
    }

    private func instant(isSummerTime: Int32) -> (seconds: Int64, found: LocalTime) {
        var parts = tm()
        parts.tm_year = Int32(year - 1900)
        parts.tm_mon = Int32(month - 1)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        parts.tm_sec = Int32(second)
        parts.tm_isdst = isSummerTime
        let seconds = mktime(&parts)
        return (Int64(seconds), LocalTime(parts))
    }

    private func isSame(as other: LocalTime) -> Bool {
        (year, month, day) == (other.year, other.month, other.day)
            && (hour, minute, second) == (other.hour, other.minute, other.second)
    }

    /// Days since 1970-01-01.
    var dayNumber: Int { ISO8601.daysSinceEpoch(year: year, month: month, day: day) }

    /// The start of a day.
    init(dayNumber: Int) {
        let date = ISO8601.date(daysSinceEpoch: dayNumber)
        self.init(year: date.year, month: date.month, day: date.day)
    }

    /// 0 is Monday.
    var weekday: Int { ((dayNumber + 3) % 7 + 7) % 7 }
}
