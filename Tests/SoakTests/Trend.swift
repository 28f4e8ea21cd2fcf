/// Whether a figure that was taken again and again has grown. Medians, since single values jump: a request that is just being
/// served has its memory and its descriptors.
struct Trend: Sendable, CustomStringConvertible {
    struct Sample: Sendable {
        let seconds: Double
        let value: Double
    }

    /// Too few samples say nothing.
    static let minimumSampleCount = 10

    let firstThirdMedian: Double
    let lastThirdMedian: Double
    /// Of each tenth, in their order: whether what grew goes on growing.
    let medians: [Double]
    let largest: Double
    /// Of the straight line with the least squares, for each minute.
    let slopePerMinute: Double

    /// - Returns: `nil` for fewer samples than say something.
    init?(_ samples: [Sample]) {
        guard samples.count >= Self.minimumSampleCount else { return nil }
        let third = samples.count / 3
        firstThirdMedian = Self.median(samples.prefix(third).map(\.value))
        lastThirdMedian = Self.median(samples.suffix(third).map(\.value))
        medians = (0..<10).map { tenth in
            Self.median(
                samples[(samples.count * tenth / 10)..<max(samples.count * tenth / 10 + 1, samples.count * (tenth + 1) / 10)].map(
                    \.value))
        }
        largest = samples.map(\.value).max() ?? 0
        let count = Double(samples.count)
        let meanTime = samples.reduce(0) { $0 + $1.seconds } / count
        let meanValue = samples.reduce(0) { $0 + $1.value } / count
        let products = samples.reduce(0) { $0 + ($1.seconds - meanTime) * ($1.value - meanValue) }
        let squares = samples.reduce(0) { $0 + ($1.seconds - meanTime) * ($1.seconds - meanTime) }
        slopePerMinute = squares > 0 ? products / squares * 60 : 0
    }

    /// - Parameters:
    ///   - factor: what the last third's median may be of the first's.
    ///   - slack: and so much more, for what is small.
    func isFlat(factor: Double, slack: Double) -> Bool { lastThirdMedian <= firstThirdMedian * factor + slack }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    var description: String {
        "median \(Self.rounded(firstThirdMedian)) in the first third, \(Self.rounded(lastThirdMedian)) in the last, at most "
            + "\(Self.rounded(largest)), \(Self.rounded(slopePerMinute)) a minute; by tenths \(medians.map(Self.rounded).joined(separator: " "))"
    }

    private static func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
