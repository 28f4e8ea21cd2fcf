import BackupCore
import SystemIO

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

    /// The rules that count, by their names in the settings.
    static let limits: [(name: String, key: WritableKeyPath<RetentionPolicy, Limit?> & Sendable, example: String)] = [
        ("keep-last", \.last, "5"), ("keep-hourly", \.hourly, "24"), ("keep-daily", \.daily, "7"), ("keep-weekly", \.weekly, "4"),
        ("keep-monthly", \.monthly, "12"), ("keep-yearly", \.yearly, "unlimited"),
    ]

    /// The name of the rule with a length of time.
    static let withinName = "keep-within"

    /// Its rules in the form of the settings.
    public var description: [(name: String, value: String)] {
        Self.limits.compactMap { rule in self[keyPath: rule.key].map { (rule.name, $0.text) } }
            + (within.map { [(Self.withinName, $0.text)] } ?? [])
    }

    /// Its rules as one text: `keep-last 5, keep-daily 7`.
    public var rule: String {
        let tags = tags.map { "keep-tag \($0.joined(separator: ","))" }
        return (description.map { "\($0.name) \($0.value)" } + tags).joined(separator: ", ")
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

    /// The moment that is this period before `time`, in the local calendar.
    func start(before time: Timestamp) -> Timestamp {
        let seconds = LocalDateTime(time).seconds(earlierByYears: years, months: months, days: days)
        return Timestamp(
            seconds: seconds - Int64(hours) * 3600 - Int64(self.seconds), nanoseconds: time.nanoseconds)
    }

    private static func unusable(_ text: String, m ambiguous: TimeUnit?) -> BackupError {
        BackupError(
            .usage, "“\(MessageText.shortened(text))” is not a length of time",
            remedy: ambiguous == nil && text.contains("m")
                ? "Write min for minutes and mo for months: m is minutes to the schedule, and months to forget. Such as 90min, 26h or 7d."
                : "Give years, months, weeks, days and hours, such as 1y6mo or 30d.")
    }
}
