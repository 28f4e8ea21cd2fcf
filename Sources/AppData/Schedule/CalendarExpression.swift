import BackupCore
import SystemIO

/// Times of the local calendar, in the syntax of systemd.time(7): `Mon..Fri 03:30`, `*-*-01 00:00:00`, `daily`.
///
/// Weekdays, date and time of day, each optional: the defaults are any day and midnight. Not supported: time zones, and days
/// counted from the end of a month (`~`).
public struct CalendarExpression: Sendable, Equatable {
    /// As written.
    public let text: String
    /// 0 is Monday; empty for all.
    private var weekdays: Set<Int> = []
    private var years: CalendarField
    private var months: CalendarField
    private var days: CalendarField
    private var hours: CalendarField
    private var minutes: CalendarField
    private var seconds: CalendarField

    private static let words = [
        "minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00", "weekly": "Mon *-*-* 00:00:00",
        "monthly": "*-*-01 00:00:00", "quarterly": "*-01,04,07,10-01 00:00:00", "semiannually": "*-01,07-01 00:00:00",
        "yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00",
    ]
    private static let yearRange = 1970...9999
    private static let weekdayNames = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    /// The 29th of February falls on each weekday within this many days, even across a year like 2100.
    private static let searchLimitDays = 41 * 366
    private static let marginSeconds: Int64 = 3 * 3_600

    /// - Throws: `usage`, with the supported syntax.
    public init(parsing text: String) throws(BackupError) {
        self.text = text
        guard let any = CalendarField(parsing: "*", in: 0...9999), let zero = CalendarField(parsing: "0", in: 0...0) else {
            throw Self.unusable(text)
        }
        (years, months, days) = (any, any, any)
        (hours, minutes, seconds) = (zero, zero, zero)
        let expanded = Self.words[text.lowercased()] ?? text
        var rest = expanded.split(separator: " ")[...]
        if let first = rest.first, first.first?.isLetter == true {
            guard let found = Self.weekdays(first) else { throw Self.unusable(text) }
            weekdays = found
            rest = rest.dropFirst()
        }
        if let first = rest.first, first.contains("-") {
            guard readDate(first) else { throw Self.unusable(text) }
            rest = rest.dropFirst()
        }
        if let first = rest.first, first.contains(":") {
            guard readTime(first) else { throw Self.unusable(text) }
            rest = rest.dropFirst()
        }
        guard rest.isEmpty, !expanded.split(separator: " ").isEmpty else { throw Self.unusable(text) }
        guard isOfTheCalendar else {
            throw BackupError(
                .usage, "“\(MessageText.shortened(text))” is not a schedule: there is no such day",
                remedy: "Write days that the calendar has.")
        }
    }

    /// Whether such a day exists at all. Whether one is still to come is not checked: a store must open with a wrong clock, and
    /// after the last such day.
    private var isOfTheCalendar: Bool {
        for year in Self.yearRange where years.contains(year) {
            for month in 1...12 where months.contains(month) {
                for number in 1...31 where includes(LocalDateTime(year: year, month: month, day: number)) { return true }
            }
        }
        return false
    }

    /// Whether the calendar has the day, and the expression names it.
    private func includes(_ day: LocalDateTime) -> Bool {
        years.contains(day.year) && months.contains(day.month) && days.contains(day.day) && day.exists
            && (weekdays.isEmpty || weekdays.contains(day.weekday))
    }

    private static func unusable(_ text: String) -> BackupError {
        let meant = SpellingSuggestion.nearest(to: text, among: words.keys.sorted() + ["off"])
        return BackupError(
            .usage, "“\(MessageText.shortened(text))” is not a schedule",
            remedy: meant.map { "Did you mean \($0)?" }
                ?? "Write off, daily, weekly, every 24h, or days and a time such as Mon..Fri 03:30 or *-*-01 12:00.")
    }

    private static func weekdays(_ text: Substring) -> Set<Int>? {
        func number(_ name: Substring) -> Int? {
            let name = name.lowercased()
            return weekdayNames.firstIndex { $0 == name || (name.utf8.count == 3 && $0.hasPrefix(name)) }
        }
        var found: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "..", omittingEmptySubsequences: false)
            guard ends.count <= 2, let first = number(ends[0]), let last = number(ends[ends.count - 1]) else { return nil }
            // Sat..Mon wraps around the end of the week.
            for step in 0...(last - first + 7) % 7 { found.insert((first + step) % 7) }
        }
        return found
    }

    private mutating func readDate(_ text: Substring) -> Bool {
        var parts = text.split(separator: "-", omittingEmptySubsequences: false)
        if parts.count == 2 { parts.insert("*", at: 0) }
        guard parts.count == 3, let years = CalendarField(parsing: parts[0], in: Self.yearRange),
            let months = CalendarField(parsing: parts[1], in: 1...12), let days = CalendarField(parsing: parts[2], in: 1...31)
        else { return false }
        (self.years, self.months, self.days) = (years, months, days)
        return true
    }

    private mutating func readTime(_ text: Substring) -> Bool {
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2 { parts.append("0") }
        guard parts.count == 3, let hours = CalendarField(parsing: parts[0], in: 0...23),
            let minutes = CalendarField(parsing: parts[1], in: 0...59), let seconds = CalendarField(parsing: parts[2], in: 0...59)
        else { return false }
        (self.hours, self.minutes, self.seconds) = (hours, minutes, seconds)
        return true
    }

    /// The first such time after `time`. If the clock shows a time twice, when DST ends, it counts once; if the clock skips it,
    /// when DST begins, it is later by the skipped amount.
    /// - Returns: `nil` when there is none left.
    public func next(after time: Timestamp) -> Timestamp? {
        let today = LocalDateTime(time).dayNumber
        // Starts with the day before: a time that the clock skipped then may be in this day.
        for number in today - 1...today + Self.searchLimitDays {
            let day = LocalDateTime(dayNumber: number)
            guard includes(day) else { continue }
            if let found = first(on: day, after: time.seconds) { return Timestamp(seconds: found, nanoseconds: 0) }
        }
        return nil
    }

    private func first(on day: LocalDateTime, after limit: Int64) -> Int64? {
        var postponed: Int64?
        var time = day
        for hour in 0...23 where hours.contains(hour) {
            time.hour = hour
            // Skips hours long past, instead of checking each second. Clock changes are smaller than this margin.
            (time.minute, time.second) = (59, 59)
            guard time.instant.seconds + Self.marginSeconds > limit else { continue }
            for minute in 0...59 where minutes.contains(minute) {
                time.minute = minute
                for second in 0...59 where seconds.contains(second) {
                    time.second = second
                    let (instant, exists) = time.instant
                    guard instant > limit else { continue }
                    if exists { return min(instant, postponed ?? instant) }
                    // Later times may come before a postponed one.
                    postponed = min(instant, postponed ?? instant)
                }
            }
        }
        return postponed
    }
}

/// A part of a date or of a time of day in a `CalendarExpression`: any number, or one of a set.
struct CalendarField: Sendable, Equatable {
    private struct Part: Equatable {
        let range: ClosedRange<Int>
        let step: Int
    }

    private let parts: [Part]

    /// Parses `*`, `5`, `1..5`, `0/15` (from 0 on, every 15th), and comma-separated lists of these.
    /// - Returns: `nil` for anything else, or a number outside of `range`.
    init?(parsing text: some StringProtocol, in range: ClosedRange<Int>) {
        var parts: [Part] = []
        for piece in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = piece.split(separator: "/", omittingEmptySubsequences: false)
            guard halves.count <= 2, let values = Self.values(Substring(halves[0]), in: range, isOpen: halves.count == 2) else {
                return nil
            }
            var step = 1
            if halves.count == 2 {
                guard let number = Self.number(Substring(halves[1])), (1...range.upperBound).contains(number) else { return nil }
                step = number
            }
            parts.append(Part(range: values, step: step))
        }
        self.parts = parts
    }

    /// - Parameter isOpen: whether a single number means all numbers from it on.
    private static func values(_ text: Substring, in range: ClosedRange<Int>, isOpen: Bool) -> ClosedRange<Int>? {
        if text == "*" { return range }
        let ends = text.split(separator: "..", omittingEmptySubsequences: false)
        guard ends.count <= 2, let first = number(ends[0]), range.contains(first) else { return nil }
        guard ends.count == 2 else { return isOpen ? first...range.upperBound : first...first }
        guard let last = number(ends[1]), range.contains(last), first <= last else { return nil }
        return first...last
    }

    private static func number(_ text: some StringProtocol) -> Int? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    func contains(_ number: Int) -> Bool {
        parts.contains { $0.range.contains(number) && (number - $0.range.lowerBound).isMultiple(of: $0.step) }
    }
}
