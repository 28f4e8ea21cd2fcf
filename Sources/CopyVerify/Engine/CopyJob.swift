import BackupCore
import Formats
import SystemIO

/// How a run of a job has ended.
public struct CopySummary: Sendable {
    /// One destination.
    public struct Part: Sendable {
        /// Absolute, as it was named.
        public let path: String
        public let counts: RowCounts
        /// Why nothing more was copied to it; `nil` if it has worked to the end.
        public let error: BackupError?
    }

    public let state: JobState
    /// The destinations, in their order.
    public let parts: [Part]
    public let info: SourceInfo
    /// Bytes that this run has read of the source.
    public let readBytes: UInt64
    /// Names that were left out since they begin with a dot.
    public let hiddenCount: UInt64
    /// What belongs to no file of a destination.
    public let problems: [String]
    /// What was left out, or could not be kept.
    public let warnings: [String]
    /// Of this run.
    public let elapsedSeconds: Double

    /// Copies that are at their destination.
    public var successCount: UInt64 { parts.reduce(0) { $0 + $1.counts.successCount } }
    /// Copies that are not.
    public var failureCount: UInt64 { parts.reduce(0) { $0 + $1.counts.failureCount } }
}

/// Runs a job, from its beginning or from where it was stopped.
public struct CopyJob: Sendable {
    public let folder: JobFolder
    private let plan: CopyPlan
    private let isResumed: Bool
    /// Destinations of the record that this run does without.
    private let absent: [AbsentDestination]

    private var record: JobRecord { folder.record }

    /// - Parameter absent: destinations of the record that are not in the plan.
    init(folder: JobFolder, plan: CopyPlan, isResumed: Bool, absent: [AbsentDestination] = []) {
        self.folder = folder
        self.plan = plan
        self.isResumed = isResumed
        self.absent = absent
    }

    /// A new job.
    /// - Parameter place: the folder of all jobs.
    public static func make(
        _ plan: CopyPlan, source: String, options: CopyOptions, in place: String
    ) throws(BackupError) -> CopyJob {
        // Before the record: it has the names that the folders have.
        let plan = try plan.reserved()
        let record = try JobRecord(source: source, destinations: plan.destinations, options: options)
        return CopyJob(folder: try JobFolder.make(in: place, record, plan.info), plan: plan, isResumed: false)
    }

    /// Copies what is not at its destination yet.
    /// - Parameters:
    ///   - stop: ends the run; the job is then paused, and can be resumed.
    ///   - version: of this program, for lists of checksums.
    ///   - phase: called when a phase begins, on this thread.
    ///   - progress: called several times a second, on a thread of its own.
    public func run(
        stop: Cancellation = Cancellation(), version: String = "", phase: (JobPhase) -> Void = { _ in },
        progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) throws(BackupError) -> CopySummary {
        func begin(_ next: JobPhase) {
            folder.note(next)
            phase(next)
        }
        let lock = try LockTimeout.waiting { () throws(BackupError) in try folder.lock() }
        defer { withExtendedLifetime(lock) {} }
        // What was asked of an earlier run.
        folder.clearRequest()
        let problems = ProblemList()
        let manifest = try SourceManifest.load(
            DirectoryHandle(path: record.source), record.options.sourceVerification, into: folder.sourceLists, problems)
        try folder.setState(.inProgress)
        try folder.removePause()
        var note = JobRun(startedAt: SystemClock.now())
        try folder.noteBegin(at: note.startedAt)
        let start = SystemClock.monotonicNanoseconds()
        let (context, destinations) = try prepare(problems, manifest, stop)
        removeUnfinished(destinations)
        let control = JobControl(folder, context)
        let threads = try DestinationThreads(destinations, context)
        let load = SourceLoad()
        let meter = try ProgressReporter(
            folder, ProgressMeter(destinations, load, plan.info, record.options.verification, at: start), progress)
        control.progress = { meter.latest.json }
        let hasher = try SourceHasher(context.algorithms)
        let reader = SourceReader(context, destinations, threads.queues, hasher, load, manifest, pace: control.check)
        control.onPause = {
            reader.passOn()
            threads.pushAll(.flush)
        }
        begin(.copying)
        walk(reader, context)
        reader.end()
        note.copySeconds = Double(SystemClock.monotonicNanoseconds() - start) / 1e9
        begin(.verifying)
        if !context.mustStop { requireWholeSource(context, reader.visitedCount) }
        threads.pushAll(.finish)
        threads.wait(looking: control.look)
        hasher.finish()
        do throws(BackupError) {
            if !context.mustStop, manifest != nil || !record.options.manifests.isEmpty { begin(.lists) }
            if !context.mustStop { try finishLists(context, destinations, manifest, reader.visitedCount, version) }
        } catch {
            // The copies are there, whatever is wrong with their lists.
            if error.code == .interrupted { context.requestStop() } else { context.problems.add(error) }
        }
        if !context.mustStop {
            begin(.folders)
            finishFolders(context, destinations)
        }
        meter.end()
        begin(.results)
        // A run that is stopped says so in its record.
        return try Cancellation.shielded { () throws(BackupError) in
            let conclusion = JobConclusion(
                folder: folder, context: context, destinations: destinations, absent: absent, info: plan.info,
                readBytes: load.readBytes, hiddenCount: plan.hiddenCount, startNanoseconds: start)
            let summary = try conclusion.write { control.isCancelled ? .cancelled : context.mustStop ? .paused : $0 }
            note.take(summary, destinations, meter.latest)
            try folder.noteEnd(note)
            try setState(summary.state, meter.latest)
            return summary
        }
    }

    private func prepare(
        _ problems: ProblemList, _ manifest: SourceManifest?, _ stop: Cancellation
    ) throws(BackupError) -> (CopyContext, [Destination]) {
        let source = try DirectoryHandle(path: record.source)
        var destinations: [Destination] = []
        for place in plan.destinations {
            if place.isMade, record.options.manifests.contains(.bagit) {
                try FileSystem.makeDirectories(FileSystem.parentPath(place.path), permissions: 0o755)
            }
            let index = record.destinations.firstIndex { $0.path == place.path } ?? 0
            destinations.append(try Destination(place, record.options, madeFolders: MadeFolders(folder.madeFolders(index))))
        }
        for destination in absent { problems.add(destination.error) }
        let belief = RowBelief(source, destinations, absent: Set(absent.map(\.place.path)))
        let journal = try ResultJournal(folder) { belief.holds($0) }
        var algorithms = manifest?.algorithms ?? []
        if record.options.manifests.contains(.ascmhl) {
            for root in [source] + destinations.map(\.root) { algorithms.formUnion(try MHLHistory.algorithms(in: root)) }
        }
        let context = CopyContext(
            record, source, journal, problems, algorithms: algorithms, isResumed: isResumed, stop: stop)
        if belief.lostCount > 0 {
            context.problems.add(
                BackupError(
                    .notFound,
                    .plural(
                        belief.lostCount,
                        one: "files of this job are not in the source any more: \(belief.lostCount) copy has no original",
                        other: "files of this job are not in the source any more: \(belief.lostCount) copies have no original"),
                    path: record.source, remedy: Self.sourceRemedy))
        }
        return (context, destinations)
    }

    /// Before anything is copied: the check has counted their space as free.
    private func removeUnfinished(_ destinations: [Destination]) {
        for (destination, unfinished) in zip(destinations, plan.unfinished) {
            for path in unfinished.folders {
                // What stays is reported when the copy comes to the folder.
                if let folder = (try? destination.root.openFolder(at: path[...])) ?? nil {
                    try? UnfinishedCopies.remove(from: folder, of: [record.token])
                }
            }
        }
    }

    private static let sourceRemedy: Message =
        "Look whether it is the source that the job began with, and whole. Put it back as it was, and resume the job."

    /// A card that was pulled out can look like an empty folder, or like one with fewer files: the copy of that is no copy of it.
    private func requireWholeSource(_ context: CopyContext, _ visitedCount: UInt64) {
        let identity = try? context.source.descriptor.status()
        guard let now = (try? FileSystem.identityIfPresent(record.source)) ?? nil, identity.map({ FileIdentity($0) }) == now
        else {
            return context.problems.add(
                BackupError(
                    .inputOutput, "the source has gone: another folder, or none, is in its place", path: record.source,
                    remedy: "Put it back, and resume the job."))
        }
        let expected = max(plan.info.fileCount, folder.recordedFileCount)
        guard visitedCount < expected else { return }
        context.problems.add(
            BackupError(
                .notFound, "the source has fewer files than when it was first looked at: \(visitedCount) instead of \(expected)",
                path: record.source, remedy: Self.sourceRemedy))
    }

    private func walk(_ visitor: any SourceVisitor, _ context: CopyContext, isOfFolders: Bool = false) {
        do throws(BackupError) {
            try SourceWalk(
                root: context.source, includesHidden: record.options.includesHidden,
                leavesOutChain: record.options.leavesOutChain, isOfFolders: isOfFolders, visitor: visitor
            ).run()
        } catch {
            if error.code == .interrupted { context.requestStop() } else { context.problems.add(error) }
        }
    }

    /// Looks for what the source lacks, and writes the lists of checksums.
    private func finishLists(
        _ context: CopyContext, _ destinations: [Destination], _ manifest: SourceManifest?, _ visitedCount: UInt64,
        _ version: String
    ) throws(BackupError) {
        let isWhole = context.problems.problems.isEmpty
        try manifest?.report(includesHidden: record.options.includesHidden)
        ManifestWriter(folder: folder, context: context, destinations: destinations, version: version)
            .run(.init(fileCount: visitedCount, isWhole: isWhole, missingCount: manifest?.missingCount ?? 0))
    }

    private func finishFolders(_ context: CopyContext, _ destinations: [Destination]) {
        let folders = FolderAttributes(context, destinations)
        walk(folders, context, isOfFolders: true)
        folders.synchronize()
    }

    private func setState(_ state: JobState, _ progress: CopyProgress) throws(BackupError) {
        if state == .paused {
            try folder.notePause("interrupted", progress.json)
        } else {
            try folder.setState(state)
        }
    }
}

/// Whether the copy of a row is still what the row says.
private final class RowBelief {
    private let source: DirectoryHandle
    private let roots: [String: DirectoryHandle]
    /// Their rows stay as they are: the next run that has them looks.
    private let absent: Set<String>
    /// Rows whose files the source has no more.
    private(set) var lostCount: UInt64 = 0

    init(_ source: DirectoryHandle, _ destinations: [Destination], absent: Set<String>) {
        self.source = source
        self.absent = absent
        roots = Dictionary(destinations.map { ($0.place.path, $0.root) }) { first, _ in first }
    }

    /// By size, time and inode of the copy, and size and time of the source. A failure stays where the source has lost the file:
    /// it gets no other row.
    func holds(_ row: RecordedRow) -> Bool {
        if absent.contains(row.destination) { return true }
        let original = Self.status(row.path, in: source)
        if original == nil { lostCount += 1 }
        guard row.status.isSuccess else { return original == nil }
        guard let root = roots[row.destination], let copy = Self.status(row.target, in: root),
            copy.inode == row.targetInode, copy.modificationTime == row.targetTime, copy.size == row.size
        else { return false }
        // What has been copied has been copied all the same.
        guard let original else { return true }
        return original.size == row.size && original.modificationTime == row.modificationTime
    }

    private static func status(_ path: [UInt8], in root: DirectoryHandle) -> FileStatus? {
        let names = BytePath.components(of: path)
        guard let name = names.last, let folder = try? root.openFolder(at: names.dropLast()) else { return nil }
        return (try? folder.statusIfPresent(name)) ?? nil
    }
}
