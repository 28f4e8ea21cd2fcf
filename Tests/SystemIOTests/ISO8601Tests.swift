import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Dates as RFC 3339 writes them. The numbers are those of `date -u -d TEXT +%s`.
struct ISO8601Tests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59Z", -1, 0), ("2026-01-11T14:30:00Z", 1_768_141_800, 0),
        ("2026-01-11T14:30:00+03:00", 1_768_131_000, 0), ("2026-01-11T14:30:00-05:30", 1_768_161_600, 0),
        ("2024-02-29T12:00:00Z", 1_709_208_000, 0), ("2000-02-29T00:00:00Z", 951_782_400, 0),
        ("1900-03-01T00:00:00Z", -2_203_891_200, 0), ("2038-01-19T03:14:08Z", 2_147_483_648, 0),
        ("9999-12-31T23:59:59Z", 253_402_300_799, 0), ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
        ("2026-01-11T14:30:00.5Z", 1_768_141_800, 500_000_000), ("2026-01-11T14:30:00.123Z", 1_768_141_800, 123_000_000),
        ("2026-01-11T14:30:00.000000001Z", 1_768_141_800, 1), ("2026-01-11t14:30:00z", 1_768_141_800, 0),
        ("2026-01-11 14:30:00Z", 1_768_141_800, 0), ("2026-01-11T00:00:00+23:59", 1_768_003_260, 0),
        ("2026-01-11T14:30:00-00:00", 1_768_141_800, 0),
    ])
    func `dates that are read`(text: String, seconds: Int64, nanoseconds: UInt32) {
        #expect(ISO8601.parse(text) == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test(arguments: [
        "", "2026", "2026-01-11", "2026-01-11T14:30:00", "2026-01-11T14:30Z", "2026-1-11T14:30:00Z", "2026-01-11T14:30:00 Z",
        "2026-00-11T14:30:00Z", "2026-13-11T14:30:00Z", "2026-01-00T14:30:00Z", "2026-01-32T14:30:00Z", "2026-04-31T14:30:00Z",
        "2026-02-29T14:30:00Z", "2024-02-30T00:00:00Z", "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-01-11T24:00:00Z",
        "2026-01-11T14:60:00Z", "2026-01-11T23:59:60Z", "2026-01-11T14:30:00.Z", "2026-01-11T14:30:00.1234567890Z",
        "2026-01-11T14:30:00,5Z", "2026-01-11T14:30:00+0300", "2026-01-11T14:30:00+03", "2026-01-11T14:30:00+24:00",
        "2026-01-11T14:30:00+03:60", "2026-01-11T14:30:00Z ", " 2026-01-11T14:30:00Z", "+2026-01-11T14:30:00Z",
        "-026-01-11T14:30:00Z",
        "2026-01-11T14:30:00ZZ", "20260111T143000Z", "２026-01-11T14:30:00Z",
    ])
    func `what is no date is refused`(text: String) {
        #expect(ISO8601.parse(text) == nil)
    }

    @Test(arguments: [
        (0, 0, "1970-01-01T00:00:00Z"), (-1, 0, "1969-12-31T23:59:59Z"), (1_768_141_800, 0, "2026-01-11T14:30:00Z"),
        (1_709_208_000, 0, "2024-02-29T12:00:00Z"), (951_782_400, 0, "2000-02-29T00:00:00Z"),
        (-2_203_891_200, 0, "1900-03-01T00:00:00Z"),
        (1_768_141_800, 500_000_000, "2026-01-11T14:30:00.500Z"), (1_768_141_800, 123_456_000, "2026-01-11T14:30:00.123456Z"),
        (1_768_141_800, 1, "2026-01-11T14:30:00.000000001Z"), (-1, 999_000_000, "1969-12-31T23:59:59.999Z"),
        (253_402_300_799, 0, "9999-12-31T23:59:59Z"), (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
    ])
    func `dates that are written`(seconds: Int64, nanoseconds: UInt32, text: String) {
        #expect(ISO8601.format(Timestamp(seconds: seconds, nanoseconds: nanoseconds)) == text)
    }

    @Test func `dates from all over eight hundred years come back`() {
        var second: Int64 = -13_000_000_000
        while second < 13_000_000_000 {
            let time = Timestamp(seconds: second)
            if ISO8601.parse(ISO8601.format(time)) != time { Issue.record("\(second): \(ISO8601.format(time))") }
            second += 777_769
        }
    }

    @Test func `a day of each year as date(1) writes it`() throws {
        let seconds = (0..<300).map { Int64($0) * 31_556_952 - 4_000_000_000 }
        let script = "for s in $1; do date -u -d \"@$s\" +%Y-%m-%dT%H:%M:%SZ; done"
        let expected = try shell(script, seconds.map(String.init).joined(separator: " ")).output.split(separator: "\n").map(
            String.init)
        #expect(seconds.map { ISO8601.format(Timestamp(seconds: $0)) } == expected)
    }
}
