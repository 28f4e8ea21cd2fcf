import BackupCore
import Formats
import SystemIO

/// What became of a job, as its folder says it.
public struct JobStory: Sendable {
    public let folder: JobFolder
    public let state: JobState
    /// Whether a process works at it.
    public let isRunning: Bool
    /// The runs, the first one first.
    public let runs: [JobRun]
    public let source: SourceFacts
    /// In the order of the job.
    public private(set) var destinations: [DestinationStory]
    /// Of a file, in bytes; `nil` without rows.
    private(set) var largestFile: UInt64?
    private(set) var smallestFile: UInt64?

    /// Reads the folder of a job, and all its rows once.
    /// - Throws: errors of its files. A file that is missing counts as empty.
    public init(_ folder: JobFolder) throws(BackupError) {
        self.folder = folder
        isRunning = folder.isRunning
        state = folder.state
        runs = try folder.readRuns()
        source = try SourceFacts(folder, runs.last { $0.endedAt != nil })
        destinations = folder.record.destinations.map { DestinationStory(place: $0) }
        let places = Dictionary(destinations.enumerated().map { ($1.place.path, $0) }) { first, _ in first }
        try folder.forEachRow { (row) throws(BackupError) in
            if let place = places[row.destination] { destinations[place].add(row) }
            guard !row.isLink else { return }
            largestFile = max(largestFile ?? row.size, row.size)
            smallestFile = min(smallestFile ?? row.size, row.size)
        }
        let errors = runs.last?.destinationErrors ?? [:]
        for index in destinations.indices {
            destinations[index].finish(expectedCount: source.fileCount, failure: errors[destinations[index].place.path])
        }
    }

    public var record: JobRecord { folder.record }

    /// The run that has ended last.
    var lastEnd: JobRun? { runs.last { $0.endedAt != nil } }

    /// Problems that belong to no file of a destination, of the last run.
    public var problems: [String] { runs.last?.problems ?? [] }
    var problemCount: Int { max(runs.last?.problemCount ?? 0, problems.count) }
    /// Of the last run.
    public var warnings: [String] { runs.last?.warnings ?? [] }

    /// Copies that are at their destination.
    public var successCount: UInt64 { destinations.reduce(0) { $0 + $1.counts.successCount } }
    /// Of these, the copies that were read back; none in the mode `quick`.
    public var verifiedCount: UInt64 { record.options.verification.readsBack ? successCount : 0 }
    /// Copies that are not, or of which nothing is known.
    public var issueCount: UInt64 { destinations.reduce(0) { $0 + $1.issueCount } }
    /// Of all runs that have ended.
    public var elapsedSeconds: Double { runs.reduce(0) { $0 + $1.elapsedSeconds } }

    /// Of the copies that there should be, in percent; 0 when there should be none.
    public var successPercent: Double {
        let sum = successCount.addingSaturating(issueCount)
        return sum == 0 ? 0 : Double(successCount) / Double(sum) * 100
    }

    /// What can be said of the whole job.
    public var verdict: ReportVerdict {
        if isRunning { return .running }
        switch state {
        case .idle: return .notBegun
        case .inProgress: return .interrupted
        case .paused, .cancelled: return .stopped
        case .failed: return .incomplete
        case .completed: break
        }
        // The record of the end and the rows have to say the same.
        let isWhole =
            runs.last?.state == .completed && problemCount == 0 && issueCount == 0
            && destinations.allSatisfy { $0.failure == nil && $0.counts.successCount >= source.fileCount }
        guard isWhole else { return .incomplete }
        if source.fileCount == 0 { return .empty }
        return record.options.verification.readsBack ? .everyByte : .everySize
    }
}

/// What can be said of a whole job.
public enum ReportVerdict: String, Sendable, CaseIterable {
    /// Each file is at each destination, and was compared byte by byte or by its digest.
    case everyByte = "every_byte_arrived"
    /// The same, but only the sizes were compared.
    case everySize = "every_file_arrived"
    /// The source had no files.
    case empty = "nothing_to_copy"
    case incomplete
    /// By a person.
    case stopped
    /// By a crash or a power cut.
    case interrupted
    case running
    case notBegun = "not_begun"
}

/// What became of one destination.
public struct DestinationStory: Sendable {
    public let place: DestinationPlace
    /// Its rows.
    public private(set) var counts = RowCounts()
    /// Of the copies that are there.
    public private(set) var successBytes: UInt64 = 0
    /// Copies that were read back past the page cache.
    public private(set) var directCount: UInt64 = 0
    /// Copies that were read back after the kernel was asked to drop them.
    public private(set) var droppedCount: UInt64 = 0
    /// Links that are there: their targets were compared.
    public private(set) var linkCount: UInt64 = 0
    /// Files that were not tried, since the destination had failed before.
    public private(set) var untriedCount: UInt64 = 0
    /// Files without a row: the job did not come to them.
    public private(set) var missingCount: UInt64 = 0
    /// Why nothing more was copied to it; `nil` if it worked to the end of the last run.
    public private(set) var failure: String?

    init(place: DestinationPlace) { self.place = place }

    /// Whether it lies in memory: its copies are gone when the machine stops, and no read comes from a disk.
    public var isInMemory: Bool { ["tmpfs", "ramfs"].contains(place.fileSystemType) }

    /// Files that are not there.
    public var issueCount: UInt64 { counts.failureCount + missingCount }

    mutating func add(_ row: RecordedRow) {
        counts.byStatus[row.status, default: 0] += 1
        if row.isDropped { untriedCount += 1 }
        guard row.status.isSuccess else { return }
        if row.isLink { linkCount += 1 } else { successBytes = successBytes.addingSaturating(row.size) }
        switch row.readBack {
        case .direct: directCount += 1
        case .dropped: droppedCount += 1
        case nil: break
        }
    }

    mutating func finish(expectedCount: UInt64, failure: String?) {
        missingCount = expectedCount.subtractingSaturating(counts.successCount + counts.failureCount)
        self.failure = failure
    }
}
