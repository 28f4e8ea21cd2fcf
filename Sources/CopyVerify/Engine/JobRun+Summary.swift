import SystemIO

extension JobRun {
    /// What a run has come to.
    mutating func take(_ summary: CopySummary, _ destinations: [Destination], _ progress: CopyProgress) {
        endedAt = SystemClock.now()
        state = summary.state
        elapsedSeconds = summary.elapsedSeconds
        verifySeconds =
            Double(destinations.map { $0.verifyingNanoseconds.load(ordering: .relaxed) }.max() ?? 0) / 1e9
        readBytes = summary.readBytes
        averageBytesPerSecond = UInt64(min(max(progress.timing.averageBytesPerSecond, 0), 9e18))
        peakBytesPerSecond = UInt64(min(max(progress.timing.peakBytesPerSecond, 0), 9e18))
        bottleneck =
            switch progress.mainBottleneck {
            case .source: "source"
            case .processor: "processor"
            case .destination(let index): destinations[index].place.path
            }
        fileCount = summary.info.fileCount
        totalBytes = summary.info.totalBytes
        hiddenCount = summary.hiddenCount
        // One reads, one hashes; for each destination, one writes and one verifies.
        workerCount = 2 + 2 * destinations.count
        (problemCount, warningCount) = (summary.problems.count, summary.warnings.count)
        problems = Array(summary.problems.prefix(Self.textLimit))
        warnings = Array(summary.warnings.prefix(Self.textLimit))
        for part in summary.parts { destinationErrors[part.path] = part.error?.summary.english }
    }
}
