import BackupCore
import Glibc

/// The current time and its text form. Always in the POSIX locale: other locales have other digits.
public enum SystemClock {
    /// The current time. `BACKUPFS_NOW` (`2026-01-11T14:30:00Z`) overrides it for tests and for reproducible documents.
    public static func now() -> Timestamp {
        if let text = getenv("BACKUPFS_NOW"), let time = ISO8601.parse(String(cString: text)) { return time }
        return systemTime()
    }

    /// The system's clock, which file systems also use; `now` may differ.
    public static func systemTime() -> Timestamp {
        var value = timespec()
        clock_gettime(CLOCK_REALTIME, &value)
        return Timestamp(value)
    }

    /// Nanoseconds since an arbitrary moment: for measuring durations, independent of changes to the clock.
    public static func monotonicNanoseconds() -> UInt64 {
        var value = timespec()
        clock_gettime(CLOCK_MONOTONIC, &value)
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// The same in seconds.
    static func monotonicSeconds() -> Double { Double(monotonicNanoseconds()) / 1e9 }

    /// `2026-01-11_14-30-00` in local time, the stamp of snapshot and file names.
    public static func localStamp(_ time: Timestamp) -> String { format(time, "%04Y-%m-%d_%H-%M-%S") }

    /// `2026-01-11 14:30:00` in local time, for people, in the order of their language.
    public static func localTime(_ time: Timestamp) -> Message {
        let parts = format(time, "%04Y %m %d %H %M %S").split(separator: " ").map(String.init)
        return "\(parts[0])-\(parts[1])-\(parts[2]) \(parts[3]):\(parts[4]):\(parts[5])"
    }

    /// The day alone.
    public static func localDay(_ time: Timestamp) -> Message {
        let parts = format(time, "%04Y %m %d").split(separator: " ").map(String.init)
        return "\(parts[0])-\(parts[1])-\(parts[2])"
    }

    /// - Parameter pattern: of strftime(3), filled in with the local time.
    private static func format(_ time: Timestamp, _ pattern: String) -> String {
        // One day inside the calendar's range: the local year also has four digits.
        let calendar = Timestamp.calendarSeconds
        var seconds = time_t(min(max(time.seconds, calendar.lowerBound + 86_400), calendar.upperBound - 86_400))
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, pattern, &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Dates in the profile of ISO 8601 that RFC 3339 describes: `2026-01-11T14:30:00Z`, `…00.123+03:00`. A zone is required.
public enum ISO8601 {
    /// - Returns: `nil` for anything else, including days that do not exist. Refuses a leap second (`:60`).
    public static func parse(_ text: String) -> Timestamp? { parse(Array(text.utf8)[...]) }

    /// The same for the bytes of a text.
    public static func parse(_ text: ArraySlice<UInt8>) -> Timestamp? {
        var scanner = Scanner(text)
        guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
            let day = scanner.number(2), scanner.take("T") || scanner.take("t") || scanner.take(" "),
            let hour = scanner.number(2), scanner.take(":"), let minute = scanner.number(2), scanner.take(":"),
            let second = scanner.number(2)
        else { return nil }
        guard (1...12).contains(month), (1...daysInMonth(year, month)).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        var nanoseconds: UInt32 = 0
        if scanner.take(".") {
            guard let fraction = scanner.fraction() else { return nil }
            nanoseconds = fraction
        }
        guard let offsetSeconds = scanner.zone(), scanner.isAtEnd else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        let seconds = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second) - Int64(offsetSeconds)
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// `2026-01-11T14:30:00Z`; with a fraction of 3, 6 or 9 digits only when there is one. A time outside the years 0 to 9999
    /// becomes the nearest date that this form can express.
    public static func format(_ time: Timestamp) -> String {
        let time = time.withinCalendar
        let day = Int((Double(time.seconds) / 86_400).rounded(.down))
        let secondOfDay = Int(time.seconds) - day * 86_400
        let (year, month, dayOfMonth) = date(daysSinceEpoch: day)
        var text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))T\(padded(secondOfDay / 3600, 2))"
        text += ":\(padded(secondOfDay / 60 % 60, 2)):\(padded(secondOfDay % 60, 2))"
        if time.nanoseconds > 0 {
            let nanoseconds = Int(time.nanoseconds)
            if nanoseconds.isMultiple(of: 1_000_000) {
                text += ".\(padded(nanoseconds / 1_000_000, 3))"
            } else if nanoseconds.isMultiple(of: 1_000) {
                text += ".\(padded(nanoseconds / 1_000, 6))"
            } else {
                text += ".\(padded(nanoseconds, 9))"
            }
        }
        return text + "Z"
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return text.count >= width ? text : String(repeating: "0", count: width - text.count) + text
    }

    private static func daysInMonth(_ year: Int, _ month: Int) -> Int {
        let isLeap = (year.isMultiple(of: 4) && !year.isMultiple(of: 100)) || year.isMultiple(of: 400)
        switch month {
        case 2: return isLeap ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date
    /// Algorithms", days_from_civil).
    public static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The inverse (civil_from_days in the same paper).
    public static func date(daysSinceEpoch days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthIndex + 2) / 5 + 1)
    }

    private struct Scanner {
        private var rest: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) { rest = text }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func digit() -> Int? {
            guard let first = rest.first, (48...57).contains(first) else { return nil }
            rest.removeFirst()
            return Int(first) - 48
        }

        mutating func number(_ digits: Int) -> Int? {
            var value = 0
            for _ in 0..<digits {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// One to nine digits as nanoseconds; refuses further digits, which exceed a file system's precision.
        mutating func fraction() -> UInt32? {
            var value: UInt32 = 0
            var count = 0
            while count < 9, let digit = digit() {
                value = value * 10 + UInt32(digit)
                count += 1
            }
            guard count > 0 else { return nil }
            for _ in count..<9 { value *= 10 }
            return value
        }

        /// Offset from UTC in seconds.
        mutating func zone() -> Int? {
            if take("Z") || take("z") { return 0 }
            let sign: Int
            if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
            guard let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else { return nil }
            return sign * (hours * 3600 + minutes * 60)
        }
    }
}

extension Timestamp {
    /// Valid only for times with 0 to 999,999,999 nanoseconds, as system calls return them.
    public init(_ value: timespec) {
        self.init(seconds: Int64(value.tv_sec), nanoseconds: UInt32(value.tv_nsec))
    }
}
