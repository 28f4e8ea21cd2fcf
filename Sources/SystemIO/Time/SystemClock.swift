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
    public static func localStamp(_ time: Timestamp) -> String { format(time, "%04Y-%m-%d_%H-%M-%S", utc: false) }

    /// `2026-01-11 14:30:00` in local time, for people, in the order of their language.
    public static func localTime(_ time: Timestamp) -> Message {
        let parts = format(time, "%04Y %m %d %H %M %S", utc: false).split(separator: " ").map(String.init)
        return "\(parts[0])-\(parts[1])-\(parts[2]) \(parts[3]):\(parts[4]):\(parts[5])"
    }

    /// The day alone.
    public static func localDay(_ time: Timestamp) -> Message {
        let parts = format(time, "%04Y %m %d", utc: false).split(separator: " ").map(String.init)
        return "\(parts[0])-\(parts[1])-\(parts[2])"
    }

    private static func format(_ time: Timestamp, _ pattern: String, utc: Bool) -> String {
        // One day inside the calendar's range: the local year also has four digits.
        let calendar = Timestamp.calendarSeconds
        var seconds = time_t(min(max(time.seconds, calendar.lowerBound + 86_400), calendar.upperBound - 86_400))
        var parts = tm()
        if utc { gmtime_r(&seconds, &parts) } else { localtime_r(&seconds, &parts) }
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, pattern, &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
