import BackupCore
import Synchronization
import SystemIO

/// What all threads of a job share.
final class CopyContext: Sendable {
    let options: CopyOptions
    /// Those whose digests are computed.
    let algorithms: Set<HashAlgorithm>
    /// Part of the names of unfinished copies.
    let token: String
    let source: DirectoryHandle
    let journal: ResultJournal
    /// Whether an earlier run may have left unfinished copies.
    let isResumed: Bool
    let problems: ProblemList
    private let rowWatch: (any RowWatch)?
    /// Whether the folders of the destinations stay where they are: not while programs rename them in a set.
    var keepsFolders: Bool { rowWatch == nil }
    private let stop: Cancellation
    private let isStopping = Atomic<Bool>(false)

    /// - Parameters:
    ///   - algorithms: besides those that the options ask for.
    ///   - rowWatch: gets all rows in place of the journal.
    init(
        _ record: JobRecord, _ source: DirectoryHandle, _ journal: ResultJournal, _ problems: ProblemList,
        algorithms: Set<HashAlgorithm>, isResumed: Bool, stop: Cancellation, rowWatch: (any RowWatch)? = nil
    ) {
        self.rowWatch = rowWatch
        options = record.options
        self.algorithms = record.options.algorithms.union(algorithms)
        self.problems = problems
        token = record.token
        self.source = source
        self.journal = journal
        self.isResumed = isResumed
        self.stop = stop
    }

    /// Whether the job is to end before it is complete.
    var mustStop: Bool { isStopping.load(ordering: .relaxed) || stop.isCancelled }

    /// Lets all threads end.
    func requestStop() { isStopping.store(true, ordering: .relaxed) }

    /// Writes rows durably.
    func record(_ rows: [ResultRow]) throws(BackupError) {
        if let rowWatch { try rowWatch.record(rows, in: journal) } else { try journal.append(rows) }
    }

    static let cancelled = BackupError(.interrupted, "cancelled")
}

/// Sees the rows of a job when they become certain.
protocol RowWatch: Sendable {
    /// Writes the rows durably, unless they have to wait.
    func record(_ rows: [ResultRow], in journal: ResultJournal) throws(BackupError)
}
