import BackupCore
import Glibc

/// A moment in the local calendar.
struct CalendarTime {
    private var parts = tm()
    private let nanoseconds: UInt32

    init(_ time: Timestamp) {
        var seconds = time_t(time.seconds)
        localtime_r(&seconds, &parts)
        nanoseconds = time.nanoseconds
    }

    var year: Int { Int(parts.tm_year) + 1900 }
    /// 1 to 12.
    var month: Int { Int(parts.tm_mon) + 1 }
    var hour: Int { Int(parts.tm_hour) }
    /// Year, month and day as one number.
    var yearDay: Int { year * 10_000 + month * 100 + Int(parts.tm_mday) }

    /// Year and ISO 8601 week number: weeks begin on Monday, and the first one contains the year's first Thursday.
    var isoWeek: Int {
        let weekday = (Int(parts.tm_wday) + 6) % 7
        let week = (Int(parts.tm_yday) - weekday + 10) / 7
        if week < 1 { return (year - 1) * 100 + Self.weekCount(of: year - 1) }
        if week > Self.weekCount(of: year) { return (year + 1) * 100 + 1 }
        return year * 100 + week
    }

    private static func weekCount(of year: Int) -> Int {
        // The weekday of December 31; a year that ends on Thursday, or whose predecessor ends on Wednesday, has 53 weeks.
        func lastDay(_ year: Int) -> Int { (year + year / 4 - year / 100 + year / 400) % 7 }
        return lastDay(year) == 4 || lastDay(year - 1) == 3 ? 53 : 52
    }

    /// The moment that is this period earlier.
    func start(of period: RetentionPeriod) -> Timestamp {
        var earlier = parts
        earlier.tm_year -= Int32(clamping: period.years)
        earlier.tm_mon -= Int32(clamping: period.months)
        earlier.tm_mday -= Int32(clamping: period.days)
        // That day decides whether DST applies.
        earlier.tm_isdst = -1
        // Dates that do not exist roll over, as in `mktime`: February 30 becomes March 2 or 1.
        let seconds = mktime(&earlier)
        return Timestamp(
            seconds: Int64(seconds) - Int64(period.hours) * 3600 - Int64(period.seconds), nanoseconds: nanoseconds)
    }
}
