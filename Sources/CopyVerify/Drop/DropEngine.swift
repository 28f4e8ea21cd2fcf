import BackupCore
import SystemIO

/// The threads and buffers of a job whose files come one by one. For one thread at a time.
final class DropEngine {
    private let context: CopyContext
    private let threads: DestinationThreads
    private let hasher: SourceHasher
    private let reader: SourceReader
    private let control: JobControl
    private let meter: ProgressReporter
    private let load: SourceLoad

    init(_ folder: JobFolder, _ context: CopyContext, _ destinations: [Destination]) throws(BackupError) {
        self.context = context
        let mode = folder.record.options.verification
        let (threads, load, control) = (
            try DestinationThreads(destinations, context), SourceLoad(), JobControl(folder, context)
        )
        self.threads = threads
        self.load = load
        self.control = control
        let meter = try ProgressReporter(
            folder, ProgressMeter(destinations, load, nil, mode, at: SystemClock.monotonicNanoseconds()), { _ in })
        self.meter = meter
        control.onPause = { threads.pushAll(.flush) }
        control.progress = { meter.latest.json }
        hasher = try SourceHasher(context.algorithms)
        reader = SourceReader(context, destinations, threads.queues, hasher, load, nil, isShared: false, pace: control.check)
    }

    /// Of the source.
    var readBytes: UInt64 { load.readBytes }

    /// Whether a person has ended the job.
    var isCancelled: Bool { control.isCancelled }

    /// Passes a file or a link on to all destinations. The rows follow, also for one that could not be read.
    /// - Parameter path: below the source.
    /// - Returns: what it was when it was read.
    /// - Throws: when no rows will come.
    func read(_ path: [FileName]) throws(BackupError) -> FileStatus {
        guard let name = path.last else { throw BackupError(.invalidArgument, "the file has no name") }
        let folder = try context.source.openDirectory(at: path.dropLast())
        let status = try folder.status(name)
        load.expect(bytes: status.kind == .regular ? status.size : 0)
        let place = SourceFolder(components: Array(path.dropLast()), status: try folder.descriptor.status())
        try reader.visit(name, status, in: place, folder)
        reader.passOn()
        threads.pushAll(.flush)
        return status
    }

    /// Ends the threads, when all that was passed on is certain.
    /// - Parameter moment: when the last file was copied, in nanoseconds of the monotonic clock.
    /// - Returns: the progress at that moment.
    func end(at moment: UInt64) -> CopyProgress {
        threads.pushAll(.finish)
        threads.wait(looking: control.look)
        hasher.finish()
        return meter.end(at: moment)
    }
}
