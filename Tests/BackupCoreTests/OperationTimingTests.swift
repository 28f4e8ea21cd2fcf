import Testing

@testable import BackupCore

/// Speeds and the time that is left, with a clock of the test's own.
struct OperationTimingTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `PRG-12: half of it in ten seconds leaves ten seconds`() throws {
        var timing = OperationTiming(startingAt: 7 * Self.second)
        for step in UInt64(1)...10 {
            timing.note(processedBytes: step * 100, totalBytes: 2_000, at: (7 + step) * Self.second)
        }
        #expect(
            timing.reading(at: 17 * Self.second)
                == OperationTiming.Reading(
                    elapsedSeconds: 10, rollingBytesPerSecond: 100, averageBytesPerSecond: 100, peakBytesPerSecond: 100,
                    remainingSeconds: 10))
    }

    @Test func `the rolling speed is that of the last five seconds, the peak the highest of them`() throws {
        var timing = OperationTiming(startingAt: 0)
        // 10 seconds of 1,000 bytes a second, then 10 of 100.
        for step in UInt64(1)...10 { timing.note(processedBytes: step * 1_000, totalBytes: 12_000, at: step * Self.second) }
        for step in UInt64(1)...10 {
            timing.note(processedBytes: 10_000 + step * 100, totalBytes: 12_000, at: (10 + step) * Self.second)
        }
        let reading = timing.reading(at: 20 * Self.second)
        #expect(reading.rollingBytesPerSecond == 100)
        #expect(reading.averageBytesPerSecond == 550)
        #expect(reading.peakBytesPerSecond == 1_000)
        #expect(reading.remainingSeconds == 1_000.0 / 550)
        // Nothing more comes: the rolling speed falls to nothing, the peak stays.
        #expect(timing.reading(at: 26 * Self.second).rollingBytesPerSecond == 0)
        #expect(timing.reading(at: 26 * Self.second).peakBytesPerSecond == 1_000)
    }

    @Test func `what is not known is not reported`() throws {
        var timing = OperationTiming(startingAt: Self.second)
        #expect(
            timing.reading(at: Self.second)
                == OperationTiming.Reading(
                    elapsedSeconds: 0, rollingBytesPerSecond: 0, averageBytesPerSecond: 0, peakBytesPerSecond: 0,
                    remainingSeconds: nil))
        timing.note(processedBytes: 500, totalBytes: 0, at: 2 * Self.second)
        #expect(timing.reading(at: 2 * Self.second).remainingSeconds == nil)
        #expect(timing.reading(at: 2 * Self.second).averageBytesPerSecond == 500)
        // More than was thought: it is about to be done.
        timing.note(processedBytes: 500, totalBytes: 400, at: 3 * Self.second)
        #expect(timing.reading(at: 3 * Self.second).remainingSeconds == 0)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5]) func `the peak is never below the average, whatever the pace`(seed: UInt64) throws {
        var random = seed &* 0x9E37_79B9_7F4A_7C15
        var timing = OperationTiming(startingAt: 0)
        var now: UInt64 = 0
        var bytes: UInt64 = 0
        for _ in 0..<2_000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            now += (random >> 33) % 700_000_000
            bytes += (random >> 40) % 1_000_000
            timing.note(processedBytes: bytes, totalBytes: 0, at: now)
            let reading = timing.reading(at: now)
            #expect(reading.peakBytesPerSecond >= reading.averageBytesPerSecond)
        }
        #expect(bytes > 100_000_000)
    }
}
