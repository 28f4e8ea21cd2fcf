import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Dates and times of the calendar, as date(1) has them.
struct LocalDateTimeTests {
    /// A day every 12 weeks and a day from 1900 on.
    private static let times = (0..<900).map { Timestamp(seconds: Int64($0) * 85 * 86_400 - 2_208_988_800 + 45_296) }

    private static func dates(_ format: String, _ zone: String) throws -> [String] {
        try shell(
            "for s in $1; do \(zone)date -d \"@$s\" +'\(format)'; done",
            times.map { String($0.seconds) }.joined(separator: " ")
        ).output.split(separator: "\n").map(String.init)
    }

    @Test func `weeks and weekdays in UTC`() throws {
        let found = Self.times.map { time in
            let utc = LocalDateTime(utc: time)
            return "\(utc.isoWeek) \(utc.weekday + 1) \(utc.date) \(utc.timeText(":")) \(utc.utcSeconds)"
        }
        #expect(try found == Self.dates("%G%V %u %Y%m%d %H:%M:%S %s", "TZ=UTC "))
    }

    @Test func `the local time leads back to the same second`() throws {
        let found = Self.times.map { time in
            let local = LocalDateTime(time)
            return
                "\(local.dateText) \(local.timeText("-")) \(local.instant.seconds) \(local.seconds(earlierByYears: 0, months: 0, days: 0))"
        }
        #expect(try found == Self.dates("%Y-%m-%d %H-%M-%S %s %s", ""))
    }

    @Test func `days that the calendar lacks do not exist, and roll over when they are counted back to`() {
        for (year, month, day) in [
            (2026, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0), (2026, 1, 32),
        ] {
            #expect(!LocalDateTime(year: year, month: month, day: day).exists, "\(year)-\(month)-\(day)")
        }
        #expect(LocalDateTime(year: 2024, month: 2, day: 29, hour: 23, minute: 59, second: 59).exists)
        #expect(!LocalDateTime(year: 2024, month: 2, day: 29, hour: 24).exists)
        let march = LocalDateTime(year: 2026, month: 3, day: 30, hour: 12)
        let rolled = LocalDateTime(Timestamp(seconds: march.seconds(earlierByYears: 0, months: 1, days: 0)))
        #expect(rolled == LocalDateTime(year: 2026, month: 3, day: 2, hour: 12))
    }
}
