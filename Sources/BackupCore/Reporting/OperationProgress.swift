/// The progress of a running operation. Callers get values; they decide what to show, and how often.
public struct OperationProgress: Sendable, Equatable {
    /// The current step, in the words of the source documents ("Creating backup...").
    public var phase: Message
    /// The same with the progress in it, where the documents show it ("Copying photos (2/3)"); otherwise the phase.
    public var message: Message
    /// Number of items (records, files) that are done.
    public var processedItems: UInt64
    /// Number of items in this phase, as far as known; 0 while unknown.
    public var totalItems: UInt64
    /// Number of bytes that have been read or written.
    public var processedBytes: UInt64
    /// The expected final value of `processedBytes`, as far as known; 0 while unknown.
    public var totalBytes: UInt64
    private let knownPercent: Int?
    /// The speed so far; `nil` until the operation's monitor, or else the command, has timed the progress.
    public private(set) var timing: OperationTiming?

    /// - Parameters:
    ///   - message: defaults to the phase.
    ///   - percent: overrides the value computed from the items.
    public init(
        phase: Message, message: Message? = nil, processedItems: UInt64 = 0, totalItems: UInt64 = 0, processedBytes: UInt64 = 0,
        totalBytes: UInt64 = 0, percent: Int? = nil
    ) {
        self.phase = phase
        self.message = message ?? phase
        self.processedItems = processedItems
        self.totalItems = totalItems
        self.processedBytes = processedBytes
        self.totalBytes = totalBytes
        knownPercent = percent
    }

    /// One of several equal steps.
    public static func step(_ phase: Message, _ number: Int, of count: Int, bytes: UInt64 = 0) -> OperationProgress {
        OperationProgress(phase: phase, processedItems: UInt64(number), totalItems: UInt64(count), processedBytes: bytes)
    }

    /// Continues the timing of an earlier progress of the operation; without one, it begins now. Keeps the timing that it has.
    /// - Parameter now: nanoseconds of a monotonic clock.
    public mutating func time(after earlier: OperationProgress?, at now: UInt64) {
        guard timing == nil else { return }
        timing = earlier?.timing ?? OperationTiming(startingAt: now)
        timing?.note(processedBytes: processedBytes, totalBytes: totalBytes, at: now)
    }

    /// 0 to 100, or `nil` while the total is unknown.
    public var percent: Int? {
        knownPercent ?? (totalItems == 0 ? nil : Int(min(100, processedItems * 100 / totalItems)))
    }
}

/// Receives progress on the operation's thread; must return quickly.
public typealias ProgressHandler = @Sendable (OperationProgress) -> Void

/// The speed and the remaining time of an operation, from the bytes that it has processed. The caller supplies the time, from a
/// monotonic clock.
public struct OperationTiming: Sendable, Equatable {
    /// The values at one moment. Speeds are bytes per second, 0 before any bytes were processed.
    public struct Reading: Sendable, Equatable {
        /// Since the operation began.
        public var elapsedSeconds: Double
        /// Over the last few seconds.
        public var rollingBytesPerSecond = 0.0
        /// Over the whole operation.
        public var averageBytesPerSecond = 0.0
        /// The maximum so far; never below the average.
        public var peakBytesPerSecond = 0.0
        /// At the average speed; `nil` while the total or the speed is unknown.
        public var remainingSeconds: Double?
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

    /// The values at that moment.
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

extension OperationTiming.Reading {
    /// Without speeds.
    public init(elapsedSeconds: Double) { self.elapsedSeconds = elapsedSeconds }
}

/// Events of a backup before it ends. Called on the thread that creates the backup.
public struct BackupMilestones: Sendable {
    /// No other operation blocks the backup, and its name is free: from now on only the backup itself can fail. May be called
    /// more than once.
    public let hasBegun: @Sendable () -> Void
    /// The backup becomes visible now, under this name, which differs from the requested one if another backup has taken that
    /// meanwhile. Returns whether to pin the backup.
    public let willAppear: @Sendable (FileName) -> Bool

    public init(
        hasBegun: @escaping @Sendable () -> Void = {}, willAppear: @escaping @Sendable (FileName) -> Bool = { _ in false }
    ) {
        self.hasBegun = hasBegun
        self.willAppear = willAppear
    }
}
