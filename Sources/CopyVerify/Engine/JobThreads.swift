import BackupCore
import Formats
import SystemIO

/// Two threads for each destination: one writes, and one verifies what was written before.
final class DestinationThreads {
    private static let commandLimit = 4_096
    private static let batchLimit = 2
    private static let lookNanoseconds: UInt64 = 200_000_000

    let queues: [WorkQueue<WriterCommand>]
    private var threads: [SystemThread] = []
    private let runningCount: Monitor<Int>

    init(_ destinations: [Destination], _ context: CopyContext) throws(BackupError) {
        queues = destinations.map { _ in WorkQueue(limit: Self.commandLimit) }
        let runningCount = Monitor(0)
        self.runningCount = runningCount
        for (destination, queue) in zip(destinations, queues) {
            let batches = WorkQueue<Batch?>(limit: Self.batchLimit)
            try start {
                let writer = DestinationWriter(destination, context, finisher: batches)
                queue.forEach { writer.execute($0) }
            }
            try start {
                let finisher = DestinationFinisher(destination, context)
                batches.forEach { batch in
                    guard let batch else { return false }
                    finisher.execute(batch)
                    return true
                }
            }
        }
    }

    private func start(_ body: @escaping @Sendable () -> Void) throws(BackupError) {
        let runningCount = runningCount
        runningCount.withLock { $0 += 1 }
        threads.append(
            try SystemThread {
                body()
                runningCount.changeWakingAll { $0 -= 1 }
            })
    }

    func pushAll(_ command: WriterCommand) { for queue in queues { queue.push(command) } }

    /// Waits until all have ended, after `finish`.
    /// - Parameter look: called now and then.
    func wait(looking look: () -> Void) {
        while !runningCount.wait(until: { $0 == 0 }, forNanoseconds: Self.lookNanoseconds) { look() }
        for thread in threads { thread.join() }
        threads = []
    }
}

/// Obeys the file `control` of a job.
final class JobControl {
    private static let pauseNanoseconds: UInt64 = 50_000_000
    /// Looking more often would cost more than copying a small file.
    private static let lookNanoseconds: UInt64 = 2_000_000

    private let folder: JobFolder
    private let context: CopyContext
    private let never = Monitor(false)
    private var nextLook: UInt64 = 0
    /// Called when a pause begins.
    var onPause: () -> Void = {}
    /// What a pause records.
    var progress: () -> OrderedJSON = { [:] }
    /// Whether a person has ended the job for good.
    private(set) var isCancelled = false

    init(_ folder: JobFolder, _ context: CopyContext) {
        self.folder = folder
        self.context = context
    }

    /// Waits while the job is paused.
    /// - Throws: `interrupted` when the run is to end.
    func check() throws(BackupError) {
        if context.mustStop { throw CopyContext.cancelled }
        let now = SystemClock.monotonicNanoseconds()
        guard now >= nextLook else { return }
        nextLook = now + Self.lookNanoseconds
        switch folder.takeRequest() {
        case .pause: try hold()
        case .cancel: try cancel()
        case .resume, nil: break
        }
    }

    private func hold() throws(BackupError) {
        onPause()
        try folder.notePause("control", progress())
        while true {
            _ = never.wait(until: { $0 }, forNanoseconds: Self.pauseNanoseconds)
            if context.mustStop { throw CopyContext.cancelled }
            switch folder.takeRequest() {
            case .resume:
                try folder.removePause()
                return try folder.setState(.inProgress)
            case .cancel: try cancel()
            case .pause, nil: continue
            }
        }
    }

    private func cancel() throws(BackupError) {
        isCancelled = true
        context.requestStop()
        throw CopyContext.cancelled
    }

    /// When the source has been read: only the end of the job can still be asked for.
    func look() {
        guard folder.request == .cancel else { return }
        isCancelled = true
        context.requestStop()
    }
}

/// Reports the progress of a job: to its caller, and once a second to its folder.
final class ProgressReporter: Sendable {
    private static let intervalNanoseconds: UInt64 = 250_000_000
    private static let fileIntervalNanoseconds: UInt64 = 1_000_000_000

    private let thread: WakeableThread
    private let folder: JobFolder
    private let meter: Monitor<ProgressMeter>

    init(
        _ folder: JobFolder, _ meter: ProgressMeter, _ handler: @escaping @Sendable (CopyProgress) -> Void
    ) throws(BackupError) {
        let shared = Monitor(meter)
        self.meter = shared
        self.folder = folder
        thread = try WakeableThread {
            var nextFile: UInt64 = 0
            return { _, _ in
                let now = SystemClock.monotonicNanoseconds()
                let progress = shared.withLock { $0.read(at: now) }
                if now >= nextFile {
                    folder.write(progress: progress.json)
                    nextFile = now + Self.fileIntervalNanoseconds
                }
                handler(progress)
                return Self.intervalNanoseconds
            }
        }
    }

    /// The progress at this moment.
    var latest: CopyProgress { meter.withLock { $0.read(at: SystemClock.monotonicNanoseconds()) } }

    /// Ends the reports, with a last one.
    /// - Parameter moment: the time that it is about, in nanoseconds of the monotonic clock.
    /// - Returns: the last one.
    @discardableResult
    func end(at moment: UInt64 = SystemClock.monotonicNanoseconds()) -> CopyProgress {
        thread.end()
        let last = meter.withLock { $0.read(at: moment) }
        folder.write(progress: last.json)
        return last
    }
}
