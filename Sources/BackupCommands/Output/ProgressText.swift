import BackupCore

/// The status line on a terminal while an operation runs.
enum ProgressText {
    static func line(_ progress: OperationProgress, _ timing: OperationTiming.Reading) -> Message {
        guard let percent = progress.percent else { return progress.message }
        guard let remaining = timing.remainingSeconds, timing.rollingBytesPerSecond > 0 else {
            return "\(progress.message) \(percent) %"
        }
        let speed = ByteCount.text(UInt64(min(timing.rollingBytesPerSecond, 9e18)))
        return "\(progress.message) \(percent) %, \(speed)/s, about \(DurationText.of(remaining)) left"
    }
}
