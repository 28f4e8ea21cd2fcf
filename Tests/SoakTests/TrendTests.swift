import TestSupport
import Testing

/// What the soak judges memory and descriptors by must tell growth from noise, or it would never fail.
struct TrendTests {
    private func samples(_ count: Int, _ value: (Double) -> Double) -> [Trend.Sample] {
        (0..<count).map { Trend.Sample(seconds: Double($0) * 2, value: value(Double($0) * 2)) }
    }

    @Test func `medians and slope are those of the figures`() throws {
        // 0, 2, … 58 seconds: 100 and half of the seconds.
        let trend = try #require(Trend(samples(30) { 100 + $0 / 2 }))
        #expect(trend.firstThirdMedian == 104.5)
        #expect(trend.lastThirdMedian == 124.5)
        #expect(trend.largest == 129)
        #expect(trend.medians == [101, 104, 107, 110, 113, 116, 119, 122, 125, 128])
        #expect(abs(trend.slopePerMinute - 30) < 1e-9)
        #expect(Trend(samples(9) { $0 }) == nil)
    }

    @Test func `noise and single jumps are flat, growth is not`() throws {
        var random = SeededGenerator(seed: 1)
        let noisy = samples(200) { _ in 60 + Double.random(in: -8...8, using: &random) }
        #expect(try #require(Trend(noisy)).isFlat(factor: 1.15, slack: 16))
        let jump = samples(200) { $0 > 380 ? 500 : 60 }
        #expect(try #require(Trend(jump)).isFlat(factor: 1.15, slack: 16))
        // 0.25 MiB for each of 400 seconds.
        let leak = samples(200) { 60 + $0 / 4 }
        #expect(try !#require(Trend(leak)).isFlat(factor: 1.15, slack: 16))
        // A descriptor each 10 seconds.
        let descriptors = samples(200) { 20 + ($0 / 10).rounded(.down) }
        #expect(try !#require(Trend(descriptors)).isFlat(factor: 1, slack: 8))
    }
}
