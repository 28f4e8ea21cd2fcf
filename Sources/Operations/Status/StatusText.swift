import AppData
import BackupCore
import BackupRepository
import SystemIO

/// The state of a store in words: the output of `backupfs status`, and what `index.html` says. Headings and labels can come from
/// the app's definition.
public struct StatusText {
    private static let shownBackupCount = 5
    private static let shownMonthCount = 12

    let state: StoreState
    private let hasStatistics: Bool

    /// - Parameter hasStatistics: whether to include statistics of the records, not only their counts.
    public init(_ state: StoreState, hasStatistics: Bool = false) {
        self.state = state
        self.hasStatistics = hasStatistics
    }

    /// In the blocks of the app's definition, or in one.
    public var lines: [Message] {
        var lines: [Message] = ["\(state.definition.title) (\(state.definition.name))", "Store: \(state.storePath)"]
        // Outside the blocks, which an app need not have.
        lines += warnings
        // What users look for comes first, and once.
        lines += last + running + failures
        if !hasRemoteBlock { lines += copies }
        lines += devices
        if state.definition.statusBlocks.isEmpty {
            lines += summary + statistics
        } else {
            for block in state.definition.statusBlocks {
                lines += ["", block.heading]
                for content in block.contents { lines += self.lines(of: content) }
                lines += block.actions.map { .joined([$0.label, .verbatim("backupfs \($0.command)")], separator: ": ") }
            }
        }
        return lines
    }

    /// Of the newest backup, and about another store that continues this one's.
    var warnings: [Message] { ([state.successorNotice].compactMap { $0 } + state.warnings).map(Self.warning) }

    private func lines(of content: StatusBlock.Content) -> [Message] {
        switch content {
        case .summary: summary
        case .remote: remote
        case .statistics: statistics
        case .backups: backups
        }
    }

    var last: [Message] {
        guard let newest = state.newest else { return ["No backups yet. Make one with: backupfs backup"] }
        return ["Last backup: \(SystemClock.localTime(newest.creationTime))"]
    }

    var failures: [Message] {
        guard let failure = state.failure, state.hasFailed else { return [] }
        let line: Message = "Last error: \(SystemClock.localTime(failure.at)), \(failure.name): \(failure.message)"
        return failure.retry == nil ? [line] : [line, "Try it again with: backupfs retry"]
    }

    var summary: [Message] {
        var lines: [Message] = []
        if let end = state.schedulePausedUntil {
            lines.append("Automatic backups are paused until: \(SystemClock.localTime(end))")
        }
        if let next = state.nextBackup {
            lines.append("Next backup: \(SystemClock.localTime(next)) (\(state.schedule))")
        } else if state.scheduleSwitchedOffBy == nil {
            lines.append("There is no schedule.")
        }
        if let name = state.scheduleSwitchedOffBy {
            lines.append("Next backup: no automatic one, since \(name) is off in \(state.definition.title)")
            lines.append("Make them all the same with: backupfs config set schedule '\(state.schedule)'")
        }
        lines.append("Backups: \(state.snapshots.count)")
        lines.append("Safety backups: \(state.safetyBackupCount)")
        if let count = state.removedBackupCount, count > 0 {
            lines.append("Removed backups that can be brought back: \(count) (see: backupfs snapshots --removed)")
        }
        if state.leftFileCount > 0 {
            lines.append(
                "Files that were copied into restore/ and never restored: \(state.leftFileCount), in \(state.leftFilesPath)")
        }
        return lines
    }

    private var remote: [Message] {
        ["Backups are kept in: \(state.repositoryPath)"] + (copies.isEmpty ? ["They are not copied anywhere else."] : copies)
    }

    private var hasRemoteBlock: Bool { state.definition.statusBlocks.contains { $0.contents.contains(.remote) } }

    var copies: [Message] { state.remotes.flatMap(Self.lines(of:)) }

    private static func lines(of remote: RemoteStatus) -> [Message] {
        let last = remote.lastSync.map { SystemClock.localTime($0) }
        let state: Message =
            switch remote.state {
            case .upToDate: "up to date since \(last ?? "")"
            case .uploading: "uploading now"
            case .never: "nothing has been uploaded yet"
            case .pending: "backups to upload: \(remote.pendingSnapshotCount)"
            case .pendingRetry:
                last.map { "the upload is to be retried; last complete one: \($0)" }
                    ?? "the upload is to be retried; there was no complete one"
            }
        let line: Message = "Copied to \(remote.label) (\(remote.url)): \(state)"
        var lines = [line]
        if let count = remote.removedCount, let time = remote.removedAt {
            lines.append("Removed from \(remote.label) by its rules: backups: \(count); \(SystemClock.localTime(time))")
        }
        if let notice = remote.notice {
            lines.append("Notice about \(remote.label): \(SystemClock.localTime(notice.at)), \(notice.message)")
        }
        guard let failure = remote.failure else { return lines }
        return lines + ["Last error of \(remote.label): \(SystemClock.localTime(failure.at)), \(failure.message)"]
    }

    var devices: [Message] {
        guard let sync = state.deviceSync else { return [] }
        let last: Message =
            sync.lastFetch.map { "last exchange: \(SystemClock.localTime($0))" } ?? "nothing has been exchanged yet"
        var lines: [Message] = ["Other devices, through \(sync.remote): changes to send: \(sync.queuedCount); \(last)"]
        if sync.conflictCount > 0 {
            lines.append("Values that lost against those of other devices: \(sync.conflictCount), in \(sync.conflictFolder)")
        }
        if sync.waitingDeletionCount > 0 {
            lines.append(
                "Deletions that wait: \(sync.waitingDeletionCount). If they are right: backupfs device-sync --accept-deletions")
        }
        if let failure = sync.failure {
            lines.append("Last error of \(sync.remote): \(SystemClock.localTime(failure.at)), \(failure.message)")
        }
        return lines
    }

    private var backups: [Message] {
        let newest = state.snapshots.suffix(Self.shownBackupCount).reversed().map { snapshot -> Message in
            let size = ByteCount.text(snapshot.dataSizeBytes)
            return "\(SystemClock.localTime(snapshot.creationTime))  \(snapshot.name)  \(size)"
        }
        return newest.isEmpty ? ["No backups yet. Make one with: backupfs backup"] : newest + ["All of them: backupfs snapshots"]
    }
}

// MARK: - Records

extension StatusText {
    private var statistics: [Message] {
        records.flatMap { headline, details in
            [headline] + (hasStatistics ? details.map { .joined([.verbatim("  "), $0], separator: "") } : [])
        }
    }

    /// A line about each collection, and what is known of its fields.
    var records: [(headline: Message, details: [Message])] {
        if let error = state.databaseError { return [("Records: cannot be read: \(error)", [])] }
        guard let statistics = state.statistics else {
            return (state.counts ?? []).map { ("\(CollectionHeading.of($0.plural)): \($0.count)", []) }
        }
        var records = statistics.collections.map { (headline: headline($0.all), details: details($0)) }
        if let bytes = statistics.databaseBytes { records.append(("Database: \(ByteCount.text(bytes))", [])) }
        return records
    }

    private func headline(_ collection: CollectionStatistics) -> Message {
        let plural = CollectionHeading.of(collection.plural)
        guard let earliest = collection.earliest, let latest = collection.latest else { return "\(plural): \(collection.count)" }
        return "\(plural): \(collection.count), from \(day(earliest)) to \(day(latest))"
    }

    private func details(_ collection: StatusStatistics.Collection) -> [Message] {
        var lines: [Message] = collection.kinds.map { "\($0.field): \(list($0.counts))" }
        if collection.all.count > 0 {
            lines += collection.trueCounts.map { "\($0.name): \($0.count) (\($0.count * 100 / collection.all.count) %)" }
        }
        let months = collection.months.suffix(Self.shownMonthCount)
        return months.count > 1 ? lines + [.verbatim(list(Array(months)))] : lines
    }

    private func list(_ counts: [StatusStatistics.Count]) -> String {
        counts.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
    }

    private func day(_ time: Timestamp) -> Message { SystemClock.localDay(time) }
}

// MARK: - What runs

extension StatusText {
    var running: [Message] {
        guard state.isRunning else { return ["Nothing is running."] }
        guard let operation = state.operation else { return ["An operation is running."] }
        var lines = [line(of: operation)]
        let timing = operation.timing
        if timing.averageBytesPerSecond > 0 {
            let now = speed(timing.rollingBytesPerSecond)
            let average = speed(timing.averageBytesPerSecond)
            let peak = speed(timing.peakBytesPerSecond)
            lines.append("Speed: \(now) now, \(average) on average, \(peak) at most")
        }
        if let remaining = timing.remainingSeconds {
            lines.append("Time: \(DurationText.of(timing.elapsedSeconds)) so far, about \(DurationText.of(remaining)) left")
        } else {
            lines.append("Time: \(DurationText.of(timing.elapsedSeconds)) so far")
        }
        return lines
    }

    private func line(of operation: OperationState) -> Message {
        guard let percent = operation.progress.percent else { return "Running: \(operation.name), \(operation.progress.message)" }
        return "Running: \(operation.name), \(operation.progress.message), \(percent) %"
    }

    private func speed(_ bytesPerSecond: Double) -> String { "\(ByteCount.text(UInt64(min(bytesPerSecond, 9e18))))/s" }

    /// Everything in one line, for following it in a log.
    public var line: Message {
        if state.isRunning { return state.operation.map(line) ?? "An operation is running." }
        guard let newest = state.newest else { return "Nothing is running. No backups yet." }
        return "Nothing is running. Last backup: \(SystemClock.localTime(newest.creationTime))"
    }
}

// MARK: - For monitors

extension StatusText {
    /// The finding, and a line for each warning.
    public static func lines(_ check: HealthCheck) -> [Message] { [line(check)] + check.warnings.map(warning) }

    private static func warning(_ message: Message) -> Message { "Warning: \(message)" }

    private static func line(_ check: HealthCheck) -> Message {
        let time: Message = check.newest.map { SystemClock.localTime($0.creationTime) } ?? ""
        return switch check.finding {
        case .healthy: "OK. Last backup: \(time)"
        case .takenOver: "The newest backup may be another store's: \(check.message ?? .verbatim(""))"
        case .waiting:
            "The store has adopted these backups and makes none itself yet. Restore one, or back up: backupfs backup. Last backup: \(time)"
        case .noBackup: "No backup has been made yet."
        case .tooOld: "The last backup is older than \(check.maximumAge?.text ?? ""). Last backup: \(time)"
        case .clock:
            "The last backup is more than a day ahead of the clock, so its age is not known. Make one by the right clock. Last backup: \(time)"
        case .automaticFailed: "The last automatic backup failed: \(check.message ?? .verbatim(""))"
        }
    }
}
