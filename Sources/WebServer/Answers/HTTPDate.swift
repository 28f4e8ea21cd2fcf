import BackupCore
import Glibc

/// Times in the headers of HTTP (RFC 9110, section 5.6.7), and in properties of WebDAV.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Thu, 26 Nov 2026 10:14:03 GMT`. A year that has no four digits is cut to the nearest one that has.
    static func text(_ time: Timestamp) -> String {
        let parts = parts(time)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded($0, 2) }.joined(separator: ":")
        return "\(days[Int(parts.tm_wday)]), \(padded(parts.tm_mday, 2)) \(months[Int(parts.tm_mon)]) "
            + "\(padded(parts.tm_year + 1900, 4)) \(clock) GMT"
    }

    /// `2026-11-26T10:14:03Z`, as RFC 3339.
    static func internet(_ time: Timestamp) -> String {
        let parts = parts(time)
        let day = [padded(parts.tm_year + 1900, 4), padded(parts.tm_mon + 1, 2), padded(parts.tm_mday, 2)].joined(separator: "-")
        return day + "T" + [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded($0, 2) }.joined(separator: ":") + "Z"
    }

    private static func parts(_ time: Timestamp) -> tm {
        // From the years 0 to 9999.
        var seconds = time_t(min(max(time.seconds, -62_167_219_200), 253_402_300_799))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return parts
    }

    private static func padded(_ number: Int32, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
