import BackupCore
import Testing

@testable import Formats

/// Times in extended headers of tar archives: every time that a file can have.
struct PAXTimeTests {
    private static let times: [(Int64, UInt32, String)] = [
        (0, 0, "0"), (-1, 0, "-1"), (-2, 999_999_999, "-1.000000001"), (1, 500_000_000, "1.5"),
        (-585_403_200, 500_000_000, "-585403199.5"),
        (.max, 0, "9223372036854775807"), (.max, 1, "9223372036854775807.000000001"), (.min, 0, "-9223372036854775808"),
        (.min + 1, 0, "-9223372036854775807"), (.min, 1, "-9223372036854775807.999999999"), (1 << 60, 0, "1152921504606846976"),
    ]

    @Test func `a time comes back from its text`() {
        for (seconds, nanoseconds, text) in Self.times {
            let time = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
            #expect(PAXRecords.text(of: time) == text)
            #expect(PAXRecords.time(Array(text.utf8)[...]) == time, "\(text)")
        }
    }

    @Test(arguments: [
        "", "-", "x", "1.2.3", "1e3", "+1", "9223372036854775808", "-9223372036854775809", "-9223372036854775808.5", "1. 5",
    ])
    func `what is no time is refused`(text: String) { #expect(PAXRecords.time(Array(text.utf8)[...]) == nil) }
}
