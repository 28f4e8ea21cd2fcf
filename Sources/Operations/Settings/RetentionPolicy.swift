import BackupCore
import Glibc

/// Which backups to keep. One matching rule is enough; the newest and pinned ones are always kept.
public struct RetentionPolicy: Sendable, Equatable {
    /// How many backups of one kind to keep.
    public enum Limit: Sendable, Equatable {
        case count(Int)
        case unlimited

        var text: String {
            switch self {
            case .count(let count): "\(count)"
            case .unlimited: "unlimited"
            }
        }

        /// A number from 1 on, or `unlimited`.
        /// - Throws: `usage`.
        public init(parsing text: String) throws(BackupError) {
            if text == "unlimited" {
                self = .unlimited
                return
            }
            guard let number = Int(text), (1...1_000_000).contains(number) else {
                throw BackupError(
                    .usage, "takes a number from 1 on, or unlimited, not “\(MessageText.shortened(text))”",
                    remedy: "Leave it out to keep nothing by it.")
            }
            self = .count(number)
        }
    }

    /// How many of the newest stay; `nil` for none by this rule.
    public var last: Limit?
    /// For how many hours the newest backup of each stays.
    public var hourly: Limit?
    /// For how many days the newest backup of each stays.
    public var daily: Limit?
    /// For how many weeks, from Monday, the newest backup of each stays.
    public var weekly: Limit?
    /// For how many months the newest backup of each stays.
    public var monthly: Limit?
    /// For how many years the newest backup of each stays.
    public var yearly: Limit?
    /// Keep all backups made within this time before the newest.
    public var within: RetentionPeriod?
    /// Lists of tags: a backup with all tags of one list is kept.
    public var tags: [[String]] = []

    public init() {}

    /// Whether it has no rule.
    public var isEmpty: Bool { self == RetentionPolicy() }

    /// Its rules in the form of the settings.
    var description: [(name: String, value: String)] {
        let limits = [
            ("keep-last", last), ("keep-hourly", hourly), ("keep-daily", daily), ("keep-weekly", weekly),
            ("keep-monthly", monthly),
            ("keep-yearly", yearly),
        ]
        return limits.compactMap { name, limit in limit.map { (name, $0.text) } }
            + (within.map { [("keep-within", $0.text)] } ?? [])
    }
}

/// A calendar period: a month before March 31 is the last day of February or a day or two after it, as in restic.
public struct RetentionPeriod: Sendable, Equatable {
    /// Years of the calendar.
    public var years = 0
    /// Months of the calendar, after the years.
    public var months = 0
    /// Days of the calendar, after the months.
    public var days = 0
    /// Of 3,600 seconds each.
    public var hours = 0
    /// Includes minutes.
    public var seconds = 0
    /// The original text.
    public let text: String

    /// `2y5m7d3h`, each unit at most once and all optional, as in restic.
    /// - Parameter ambiguous: the meaning of `m`; `nil` where it could be minutes.
    /// - Throws: `usage`.
    public init(parsing text: String, m ambiguous: TimeUnit? = .months) throws(BackupError) {
        self.text = text
        guard let parts = TimeUnit.parts(of: text, m: ambiguous), Set(parts.map(\.unit)).count == parts.count,
            parts.allSatisfy({ $0.number <= Self.numberLimit })
        else { throw Self.unusable(text, m: ambiguous) }
        for (number, unit) in parts {
            switch unit {
            case .seconds: seconds += number
            case .minutes: seconds += number * 60
            case .hours: hours = number
            case .days: days += number
            case .weeks: days += number * 7
            case .months: months = number
            case .years: years = number
            }
        }
        guard years + months + days + hours + seconds > 0 else { throw Self.unusable(text, m: ambiguous) }
    }

    private static let numberLimit = 100_000

    private static func unusable(_ text: String, m ambiguous: TimeUnit?) -> BackupError {
        BackupError(
            .usage, "“\(MessageText.shortened(text))” is not a length of time",
            remedy: ambiguous == nil && text.contains("m")
                ? "Write min for minutes and mo for months: m is minutes to the schedule, and months to forget. Such as 90min, 26h or 7d."
                : "Give years, months, weeks, days and hours, such as 1y6mo or 30d.")
    }
}

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
