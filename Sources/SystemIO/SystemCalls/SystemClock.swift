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

    /// The same, also counting the time in which the machine sleeps: for what expires meanwhile.
    public static func bootNanoseconds() -> UInt64 {
        var value = timespec()
        clock_gettime(CLOCK_BOOTTIME, &value)
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// The seconds of `monotonicNanoseconds`.
    public static func monotonicSeconds() -> Double { Double(monotonicNanoseconds()) / 1e9 }

    /// `2026-01-11_14-30-00` in local time, the stamp of snapshot and file names.
    public static func localStamp(_ time: Timestamp) -> String {
        let local = local(time)
        return "\(local.dateText)_\(local.timeText("-"))"
    }

    /// `2026-01-11 14:30:00` in local time, for people, in the order of their language.
    public static func localTime(_ time: Timestamp) -> Message {
        let local = local(time)
        let (year, month, day) = (padded(local.year, 4), padded(local.month), padded(local.day))
        return "\(year)-\(month)-\(day) \(padded(local.hour)):\(padded(local.minute)):\(padded(local.second))"
    }

    /// The day alone.
    public static func localDay(_ time: Timestamp) -> Message {
        let local = local(time)
        return "\(padded(local.year, 4))-\(padded(local.month))-\(padded(local.day))"
    }

    private static func padded(_ value: Int, _ width: Int = 2) -> String { LocalDateTime.padded(value, width) }

    private static func local(_ time: Timestamp) -> LocalDateTime {
        // One day inside the calendar's range: the local year also has four digits.
        let calendar = Timestamp.calendarSeconds
        let seconds = min(max(time.seconds, calendar.lowerBound + 86_400), calendar.upperBound - 86_400)
        return LocalDateTime(Timestamp(seconds: seconds))
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
        let date = LocalDateTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        guard date.exists else { return nil }
        var nanoseconds: UInt32 = 0
        if scanner.take(".") {
            guard let fraction = scanner.fraction() else { return nil }
            nanoseconds = fraction
        }
        guard let offsetSeconds = scanner.zone(), scanner.isAtEnd else { return nil }
        return Timestamp(seconds: date.utcSeconds - Int64(offsetSeconds), nanoseconds: nanoseconds)
    }

    /// `2026-01-11T14:30:00Z`; with a fraction of 3, 6 or 9 digits only when there is one. A time outside the years 0 to 9999
    /// becomes the nearest date that this form can express.
    public static func format(_ time: Timestamp) -> String { String(decoding: formatToUTF8(time), as: UTF8.self) }

    /// The same, as bytes.
    public static func formatToUTF8(_ time: Timestamp) -> [UInt8] {
        let time = time.withinCalendar
        let date = LocalDateTime(utc: time)
        var text: [UInt8] = []
        text.reserveCapacity(30)
        add(date.year, digits: 4, to: &text)
        for (separator, value) in [("-", date.month), ("-", date.day), ("T", date.hour), (":", date.minute), (":", date.second)]
            as [(Unicode.Scalar, Int)]
        {
            text.append(UInt8(ascii: separator))
            add(value, digits: 2, to: &text)
        }
        if time.nanoseconds > 0 {
            let nanoseconds = Int(time.nanoseconds)
            text.append(UInt8(ascii: "."))
            if nanoseconds.isMultiple(of: 1_000_000) {
                add(nanoseconds / 1_000_000, digits: 3, to: &text)
            } else if nanoseconds.isMultiple(of: 1_000) {
                add(nanoseconds / 1_000, digits: 6, to: &text)
            } else {
                add(nanoseconds, digits: 9, to: &text)
            }
        }
        text.append(UInt8(ascii: "Z"))
        return text
    }

    private static func add(_ value: Int, digits: Int, to text: inout [UInt8]) {
        var unit = 1
        for _ in 1..<digits { unit *= 10 }
        while unit > 0 {
            text.append(UInt8(ascii: "0") + UInt8(value / unit % 10))
            unit /= 10
        }
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
