import BackupCore
import SystemIO

/// What the end of every run writes into the folder of its job, and what the run has come to.
struct JobConclusion {
    let folder: JobFolder
    let context: CopyContext
    let destinations: [Destination]
    /// Destinations of the record that the run did without.
    var absent: [AbsentDestination] = []
    let info: SourceInfo
    /// Bytes that the run has read of the source.
    let readBytes: UInt64
    /// Names that were left out since they begin with a dot.
    var hiddenCount: UInt64 = 0
    /// When the run has begun, in nanoseconds of the monotonic clock. A time in which nothing was to be done does not count.
    let startNanoseconds: UInt64

    /// - Parameter state: how a run has ended that was not stopped: `completed` or `failed`.
    /// - Returns: the summary, once the results and the errors are written.
    func write(_ state: (JobState) -> JobState) throws(BackupError) -> CopySummary {
        let counts = try JobReports(folder, context.problems, context.journal).write()
        let errors = Dictionary(
            destinations.map { ($0.place.path, $0.error) } + absent.map { ($0.place.path, $0.error) }
        ) { first, _ in first }
        let parts = folder.record.destinations.map { place in
            CopySummary.Part(path: place.path, counts: counts[place.path] ?? RowCounts(), error: errors[place.path] ?? nil)
        }
        // It was asked of this run.
        folder.clearRequest()
        let isWhole = parts.allSatisfy { $0.counts.failureCount == 0 && $0.error == nil } && context.problems.problems.isEmpty
        return CopySummary(
            state: state(isWhole ? .completed : .failed), parts: parts, info: info, readBytes: readBytes,
            hiddenCount: hiddenCount,
            problems: context.problems.problems, warnings: context.problems.warnings,
            elapsedSeconds: Double(SystemClock.monotonicNanoseconds().subtractingSaturating(startNanoseconds)) / 1e9)
    }
}
