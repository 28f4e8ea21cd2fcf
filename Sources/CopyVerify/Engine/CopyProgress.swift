import BackupCore
import Formats
import SystemIO

/// How far a job is, and how fast.
public struct CopyProgress: Sendable {
    /// What the job waits for.
    public enum Bottleneck: Sendable, Hashable {
        case source
        /// The destination of this index.
        case destination(Int)
        case processor
    }

    /// One destination.
    public struct Part: Sendable {
        /// Absolute, as it was named.
        public let path: String
        /// Bytes that were written and read back, of `totalBytes`.
        public let doneBytes: UInt64
        /// The expected final value.
        public let totalBytes: UInt64
        /// Over the last few seconds.
        public let bytesPerSecond: Double
        /// Whether nothing more is copied to it.
        public let hasFailed: Bool

        /// 0 to 100.
        public var percent: Int { totalBytes == 0 ? 100 : Int(min(100, Double(doneBytes) / Double(totalBytes) * 100)) }
    }

    /// The destinations, in their order.
    public let parts: [Part]
    /// Of all destinations together.
    public let timing: OperationTiming.Reading
    /// Rows that are written: files times destinations.
    public let finishedCount: UInt64
    /// The final number of rows.
    public let totalCount: UInt64
    public let bottleneck: Bottleneck
    /// What it has waited for most often so far.
    public let mainBottleneck: Bottleneck

    /// Bytes that were written and read back at all destinations.
    public var doneBytes: UInt64 { parts.reduce(0) { $0 + $1.doneBytes } }
    /// The expected final value.
    public var totalBytes: UInt64 { parts.reduce(0) { $0 + $1.totalBytes } }

    /// `progress.json`.
    public var json: OrderedJSON {
        [
            "elapsedSeconds": Self.decimal(timing.elapsedSeconds), "rollingBps": Self.whole(timing.rollingBytesPerSecond),
            "averageBps": Self.whole(timing.averageBytesPerSecond), "peakBps": Self.whole(timing.peakBytesPerSecond),
            "etaSeconds": timing.remainingSeconds.map(Self.decimal), "bytesDone": doneBytes, "bytesTotal": totalBytes,
        ]
    }

    private static func whole(_ value: Double) -> UInt64 { UInt64(min(max(value, 0), 9e18)) }

    private static func decimal(_ seconds: Double) -> OrderedJSON {
        .decimal((min(seconds, 1e9) * 1_000).rounded() / 1_000)
    }
}

/// Works out the progress of a job from time to time.
struct ProgressMeter {
    private let destinations: [Destination]
    private let load: SourceLoad
    /// `nil` for a job whose files come one by one: those that have come so far are in `load`.
    private let info: SourceInfo?
    private let factor: UInt64
    private var timings: [OperationTiming]
    private var timing: OperationTiming
    private var last: (reading: UInt64, waiting: UInt64) = (0, 0)
    private var bottleneck = CopyProgress.Bottleneck.source
    private var bottleneckCounts: [CopyProgress.Bottleneck: Int] = [:]

    private static let queuedBytes: UInt64 = 4 << 20

    init(_ destinations: [Destination], _ load: SourceLoad, _ info: SourceInfo?, _ mode: VerificationMode, at now: UInt64) {
        self.destinations = destinations
        self.load = load
        self.info = info
        factor = mode.readsBack ? 2 : 1
        timings = destinations.map { _ in OperationTiming(startingAt: now) }
        timing = OperationTiming(startingAt: now)
    }

    private var fileCount: UInt64 { info?.fileCount ?? load.expectedFileCount }

    mutating func read(at now: UInt64) -> CopyProgress {
        // For each destination: what is written and, in most modes, read back.
        let totalBytes = (info?.totalBytes ?? load.expectedBytes).multipliedSaturating(by: factor)
        var parts: [CopyProgress.Part] = []
        var (done, total): (UInt64, UInt64) = (0, 0)
        for (index, destination) in destinations.enumerated() {
            let skipped = destination.skippedBytes.load(ordering: .relaxed).multipliedSaturating(by: factor)
            let worked =
                destination.writtenBytes.load(ordering: .relaxed) + destination.verifiedBytes.load(ordering: .relaxed)
            let goal = totalBytes.subtractingSaturating(skipped)
            timings[index].note(processedBytes: worked, totalBytes: goal, at: now)
            parts.append(
                CopyProgress.Part(
                    path: destination.place.path, doneBytes: min(totalBytes, worked.addingSaturating(skipped)),
                    totalBytes: totalBytes, bytesPerSecond: timings[index].reading(at: now).rollingBytesPerSecond,
                    hasFailed: destination.error != nil))
            guard destination.error == nil else { continue }
            done += worked
            total = total.addingSaturating(goal)
        }
        timing.note(processedBytes: done, totalBytes: total, at: now)
        findBottleneck()
        bottleneckCounts[bottleneck, default: 0] += 1
        return CopyProgress(
            parts: parts, timing: timing.reading(at: now),
            finishedCount: destinations.reduce(0) { $0 + $1.finishedCount.load(ordering: .relaxed) },
            totalCount: fileCount * UInt64(destinations.count), bottleneck: bottleneck,
            mainBottleneck: bottleneckCounts.max { $0.value < $1.value }?.key ?? bottleneck)
    }

    /// What the reader has done most since the last time.
    private mutating func findBottleneck() {
        let present = (load.readingNanoseconds, load.waitingNanoseconds)
        let (reading, waiting) = (present.0 - last.reading, present.1 - last.waiting)
        last = present
        // Nothing new: it waits for what it waited for before.
        if reading == 0, waiting == 0 { return }
        guard waiting > reading else {
            bottleneck = .source
            return
        }
        let queues = destinations.map { $0.error == nil ? $0.waitingBytes.load(ordering: .relaxed) : 0 }
        if let longest = queues.max(), longest >= Self.queuedBytes, let index = queues.firstIndex(of: longest) {
            bottleneck = .destination(index)
        } else {
            bottleneck = .processor
        }
    }
}
