import BackupCore
import SystemIO

/// A job of files that programs copy one by one into a set of destinations.
final class DropJob: Sendable {
    let folder: JobFolder
    let destinations: [Destination]
    let rows: DropRows
    let context: CopyContext
    /// What has come so far.
    let info: Monitor<DropInfo>
    private let engine: Monitor<DropEngine>
    private let run: JobRun
    private let startNanoseconds = SystemClock.monotonicNanoseconds()
    /// Held until the job has ended.
    private let lock: Monitor<AdvisoryLock?>

    /// Checks the destinations, removes what a killed job has left there, and begins.
    /// - Parameters:
    ///   - spool: the folder of the files while they are written; made if it is missing.
    ///   - jobs: the folder of all jobs.
    ///   - forbidden: folders that have no destination in them.
    init(
        _ set: CopySetPlace, spool: String, jobs: String, awayFrom forbidden: [(name: Message, path: String)]
    ) throws(BackupError) {
        var check = CopyCheck(source: spool, destinations: set.destinations, options: set.options)
        let places = try check.runWithoutSource(awayFrom: forbidden)
        try DropLeftovers(spool: spool, jobs: jobs).remove(from: places, of: set.source)
        try FileSystem.makeDirectories(spool)
        let record = try JobRecord(
            .drop, source: set.source, spool: spool, destinations: places, options: set.options)
        let folder = try JobFolder.make(in: jobs, record, SourceInfo(path: set.source))
        self.folder = folder
        lock = Monitor(try folder.lock())
        try folder.setState(.inProgress)
        let run = JobRun(startedAt: SystemClock.now())
        try folder.noteBegin(at: run.startedAt)
        folder.note(.copying)
        self.run = run
        var destinations: [Destination] = []
        for (index, place) in places.enumerated() {
            destinations.append(try Destination(place, set.options, madeFolders: MadeFolders(folder.madeFolders(index))))
        }
        self.destinations = destinations
        info = Monitor(DropInfo(set.source))
        let rows = DropRows()
        self.rows = rows
        let context = CopyContext(
            record, try DirectoryHandle(path: spool), try ResultJournal(folder) { _ in true }, ProblemList(), algorithms: [],
            isResumed: false, stop: Cancellation(), rowWatch: rows)
        self.context = context
        engine = Monitor(try DropEngine(folder, context, destinations))
    }

    /// Copies a file or a link of the spool to all destinations. Durable and verified when it returns.
    /// - Parameters:
    ///   - path: below the spool, and below each destination.
    ///   - isTemporary: whether the row is to have the name that the file gets later.
    /// - Throws: the worst of what has happened at a destination; the others have the file.
    func copy(_ path: [FileName], isTemporary: Bool) throws(BackupError) {
        let key = BytePath.joined(path)
        rows.expect(key, count: destinations.count, isHeld: isTemporary)
        defer { rows.forget(key) }
        let result = engine.withLock { engine in Result { () throws(BackupError) in try engine.read(path) } }
        let status = try result.get()
        try Self.requireSuccess(rows.wait(for: key))
        info.withLock { $0.add(path, status, isTemporary: isTemporary) }
    }

    /// In the order of what a person has to know first.
    private static let severity: [RowStatus] = [
        .checksumMismatch, .conflict, .insufficientStorage, .fileAccessDenied, .operationCancelled,
    ]

    private static func requireSuccess(_ rows: [ResultRow]) throws(BackupError) {
        let failures = rows.filter { !$0.status.isSuccess }
        let worst = severity.lazy.compactMap { status in failures.first { $0.status == status } }.first ?? failures.first
        guard let worst, let error = worst.error else { return }
        throw worst.status == .conflict ? error.with(.alreadyExists) : error
    }

    /// Lets everything end that runs.
    func stop() { context.requestStop() }

    /// Ends the job when nothing runs any more, and writes its results.
    /// - Parameter idleSince: since when nothing was copied, in nanoseconds of the monotonic clock. The job has taken as long as
    ///   that, and as its end takes.
    /// - Returns: how it has ended.
    func end(idleSince: UInt64) throws(BackupError) -> JobState {
        let endNanoseconds = SystemClock.monotonicNanoseconds()
        let (isCancelled, readBytes, progress) = engine.withLock { engine in
            let progress = engine.end(at: idleSince)
            return (engine.isCancelled, engine.readBytes, progress)
        }
        // Files that have kept their temporary names.
        try context.journal.append(rows.takeAllHeld())
        for destination in destinations where destination.error == nil {
            do throws(BackupError) {
                // Modes and times that were set after the copies.
                try FileSystem.synchronizeTree(destination.place.path)
            } catch {
                context.problems.add(error)
            }
        }
        folder.note(.results)
        let info = info.withLock { $0.whole }
        try folder.write(info)
        let copyNanoseconds = idleSince.subtractingSaturating(startNanoseconds)
        let conclusion = JobConclusion(
            folder: folder, context: context, destinations: destinations, info: info, readBytes: readBytes,
            startNanoseconds: endNanoseconds.subtractingSaturating(copyNanoseconds))
        let summary = try conclusion.write { isCancelled || context.mustStop ? .cancelled : $0 }
        var run = run
        run.copySeconds = Double(copyNanoseconds) / 1e9
        run.take(summary, destinations, progress)
        try folder.noteEnd(run)
        try folder.setState(summary.state)
        lock.withLock { $0 = nil }
        return summary.state
    }
}
