/// The speed and the remaining time of an operation, from the bytes that it has processed. The caller supplies the time, from a monotonic clock.
public struct OperationTiming: Sendable, Equatable {
    /// The values at one moment. Speeds are bytes per second, 0 before any bytes were processed.
    public struct Reading: Sendable, Equatable {
        public var elapsedSeconds: Double
        /// Over the last few seconds.
        public var rollingBytesPerSecond: Double
        public var averageBytesPerSecond: Double
        /// The maximum so far; never below the average.
        public var peakBytesPerSecond: Double
        /// At the average speed; `nil` while the total or the speed is unknown.
        public var remainingSeconds: Double?

        public init(
            elapsedSeconds: Double, rollingBytesPerSecond: Double, averageBytesPerSecond: Double, peakBytesPerSecond: Double,
            remainingSeconds: Double?
        ) {
            self.elapsedSeconds = elapsedSeconds
            self.rollingBytesPerSecond = rollingBytesPerSecond
            self.averageBytesPerSecond = averageBytesPerSecond
            self.peakBytesPerSecond = peakBytesPerSecond
            self.remainingSeconds = remainingSeconds
        }
    }

    private struct Sample: Sendable, Equatable {
        let nanoseconds: UInt64
        let bytes: UInt64
    }

    /// The window of the rolling speed.
    private static let windowNanoseconds: UInt64 = 5_000_000_000
    /// The minimum distance between samples: this keeps them few, and a speed over less time means nothing.
    private static let spacingNanoseconds: UInt64 = 250_000_000

    private let start: UInt64
    private var processedBytes: UInt64 = 0
    private var totalBytes: UInt64 = 0
    /// Oldest first; the first is at least as old as the window, once such a sample exists.
    private var samples: [Sample]
    private var peak = 0.0

    /// - Parameter now: nanoseconds of a monotonic clock, as everywhere in this type.
    public init(startingAt now: UInt64) {
        start = now
        samples = [Sample(nanoseconds: now, bytes: 0)]
    }

    /// - Parameter totalBytes: 0 while unknown
    public mutating func note(processedBytes: UInt64, totalBytes: UInt64, at now: UInt64) {
        self.processedBytes = processedBytes
        self.totalBytes = totalBytes
        guard let newest = samples.last, now >= newest.nanoseconds + Self.spacingNanoseconds else { return }
        peak = max(peak, rolling(at: now))
        samples.append(Sample(nanoseconds: now, bytes: processedBytes))
        // The window begins at the newest sample that is older than it.
        while samples.count > 1, samples[1].nanoseconds + Self.windowNanoseconds <= now { samples.removeFirst() }
    }

    public func reading(at now: UInt64) -> Reading {
        let elapsed = Self.seconds(from: start, to: now)
        let average = elapsed > 0 ? Double(processedBytes) / elapsed : 0
        let isKnown = totalBytes > 0 && average > 0
        let rest = totalBytes > processedBytes ? Double(totalBytes - processedBytes) : 0
        return Reading(
            elapsedSeconds: elapsed, rollingBytesPerSecond: rolling(at: now), averageBytesPerSecond: average,
            peakBytesPerSecond: max(peak, average), remainingSeconds: isKnown ? rest / average : nil)
    }

    /// Since the window began, or since the start if that is later.
    private func rolling(at now: UInt64) -> Double {
        let oldest = samples.last { $0.nanoseconds + Self.windowNanoseconds <= now } ?? samples[0]
        let seconds = Self.seconds(from: oldest.nanoseconds, to: now)
        guard seconds > 0, processedBytes > oldest.bytes else { return 0 }
        return Double(processedBytes - oldest.bytes) / seconds
    }

    private static func seconds(from start: UInt64, to end: UInt64) -> Double {
        end > start ? Double(end - start) / 1_000_000_000 : 0
    }
}
