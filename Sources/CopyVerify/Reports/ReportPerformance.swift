import BackupCore
import Formats
import SystemIO

/// How fast a job was, over all its runs that have ended.
struct ReportPerformance {
    let totalSeconds: Double
    let copySeconds: Double
    let verifySeconds: Double
    /// Bytes of the source for each second of the job.
    let throughput: Double
    /// Of what was written and read back, at all destinations.
    let peak: Double
    /// The same, of the last run.
    let average: Double
    let filesPerSecond: Double
    let workerCount: Int
    /// What the last run has waited for most often.
    let bottleneck: String?

    init(_ story: JobStory) {
        totalSeconds = story.elapsedSeconds
        copySeconds = story.runs.reduce(0) { $0 + $1.copySeconds }
        verifySeconds = story.runs.reduce(0) { $0 + $1.verifySeconds }
        let readBytes = story.runs.reduce(UInt64(0)) { $0.addingSaturating($1.readBytes) }
        throughput = totalSeconds > 0 ? Double(readBytes) / totalSeconds : 0
        filesPerSecond = totalSeconds > 0 ? Double(story.source.fileCount) / totalSeconds : 0
        peak = Double(story.runs.map(\.peakBytesPerSecond).max() ?? 0)
        average = Double(story.lastEnd?.averageBytesPerSecond ?? 0)
        workerCount = story.lastEnd?.workerCount ?? 0
        bottleneck = story.lastEnd?.bottleneck
    }
}
