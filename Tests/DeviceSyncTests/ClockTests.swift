import BackupCore
import TestSupport
import Testing

@testable import DeviceSync

struct ClockTests {
    private static let device = TestID.device(0)
    private static let other = TestID.device(1)

    private static func time(_ milliseconds: Int64) -> Timestamp {
        Timestamp(seconds: milliseconds / 1_000, nanoseconds: UInt32(milliseconds % 1_000) * 1_000_000)
    }

    @Test func `stamps ascend, whatever the clock does`() throws {
        var clock = HybridClock()
        var stamps: [ChangeStamp] = []
        for milliseconds: Int64 in [1_000, 1_000, 999, 0, 1_001, 1_001, 5] {
            stamps.append(try clock.stamp(at: Self.time(milliseconds), by: Self.device))
        }
        #expect(stamps.map(\.milliseconds) == [1_000, 1_000, 1_000, 1_000, 1_001, 1_001, 1_001])
        #expect(stamps.map(\.counter) == [0, 1, 2, 3, 0, 1, 2])
        #expect(stamps == stamps.sorted())
    }

    @Test func `a change comes after what its device had seen`() throws {
        var clock = HybridClock()
        clock.observe(ChangeStamp(milliseconds: 9_000, counter: 5, device: Self.other))
        clock.observe(ChangeStamp(milliseconds: 8_000, counter: 7, device: Self.other))
        let stamp = try clock.stamp(at: Self.time(100), by: Self.device)
        #expect(stamp == ChangeStamp(milliseconds: 9_000, counter: 6, device: Self.device))
    }

    @Test func `of two changes at once the device decides`() {
        let stamps = [Self.other, Self.device].map { ChangeStamp(milliseconds: 1, counter: 1, device: $0) }
        #expect(stamps[1] < stamps[0])
        #expect(ChangeStamp(milliseconds: 1, counter: 0, device: Self.other) < stamps[1])
    }

    @Test func `impossible clocks are those of the ends of time`() throws {
        var clock = HybridClock()
        #expect(try clock.stamp(at: Timestamp(seconds: .min), by: Self.device).milliseconds == 0)
        #expect(try clock.stamp(at: Timestamp(seconds: .max), by: Self.device).milliseconds == 253_402_300_799_999)
        clock = HybridClock(milliseconds: 1, counter: ChangeStamp.counterLimit)
        #expect(
            try clock.stamp(at: Self.time(0), by: Self.device)
                == ChangeStamp(milliseconds: 2, counter: 0, device: Self.device))
        clock = HybridClock(milliseconds: ChangeStamp.latestMilliseconds, counter: ChangeStamp.counterLimit)
        #expect(try #require(failure { _ = try clock.stamp(at: Self.time(0), by: Self.device) }).code == .notSupported)
    }
}
