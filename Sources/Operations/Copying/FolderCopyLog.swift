import BackupCore
import CopyVerify
import SystemIO

/// The log and the notices of copies of folders. They need neither an open store nor its repository.
public struct FolderCopyLog: Sendable {
    /// `nil` without a store.
    private let place: NotificationContext?
    private let log: OperationLog?

    /// - Parameters:
    ///   - root: of the store that has the jobs; `nil` if none has. Then only a file that is named gets a line.
    ///   - overrides: of this process.
    /// - Throws: `usage` for a file that the log must not be; errors of the settings.
    public init(storeAt root: String?, _ overrides: LogOverrides) throws(BackupError) {
        guard let root else {
            place = nil
            let isNamed = overrides.path != nil || overrides.destination == .stderr || overrides.destination == .journal
            log =
                isNamed
                ? OperationLog(
                    level: overrides.level ?? .info, sink: overrides.sink(LogSettings(), ownPath: "/dev/null") { $0 }, app: nil)
                : nil
            return
        }
        let paths = StorePaths(root: root)
        let context = try NotificationContext(paths)
        if let path = overrides.path { try OutputPaths(context.settings, paths).check(path, isLog: true) }
        place = context
        log = OperationLog(
            context.settings.log, overrides, paths, OutputPaths(context.settings, paths), app: context.definition.name)
    }

    /// Of an open store.
    public init(_ store: Store) {
        place = NotificationContext(store)
        log = store.log
    }

    /// A copy begins.
    public func noteBeginning() { log?.noteBeginning(.copy, isAutomatic: false) }

    /// A copy has ended before it had a job, or could not record how.
    /// - Parameter startedNanoseconds: of the monotonic clock.
    public func note(_ error: BackupError, startedAt: Timestamp, startedNanoseconds: UInt64) {
        note(
            error, startedAt: startedAt,
            durationMilliseconds: Int64((SystemClock.monotonicNanoseconds() - startedNanoseconds) / 1_000_000))
    }

    /// A run of a job has ended in a mount, and could not record how. Runs `notify`, and waits a short time for its end.
    public func note(_ error: BackupError, of folder: JobFolder, startedAt: Timestamp) {
        // A clock that was set back must not give a negative length.
        let seconds = max(0, SystemClock.now().secondsSince(startedAt))
        note(error, startedAt: startedAt, durationMilliseconds: seconds.multipliedSaturating(by: 1_000))
        guard let place, error.code != .interrupted else { return }
        OperationNotification(.copy, named: folder.record.source, at: place, error: error).send()
    }

    private func note(_ error: BackupError, startedAt: Timestamp, durationMilliseconds: Int64) {
        var facts = OperationFacts()
        facts.note(error)
        log?.note(
            OperationRecord(
                .copy, startedAt: startedAt, durationMilliseconds: durationMilliseconds, result: OperationResult(error.code),
                facts: facts))
    }

    /// A run of a job has ended. Runs `notify`, and waits a short time for its end.
    public func noteEnd(of folder: JobFolder) {
        guard let run = (try? folder.readRuns())?.last, let state = run.state else { return }
        var facts = OperationFacts()
        (facts.sizeBytes, facts.fileCount) = (run.totalBytes, run.fileCount)
        facts.note(details: ["Copied from: \(folder.record.source)"])
        facts.note(details: folder.record.namedDestinations.map { "Copied to: \($0)" })
        facts.note(details: ["The record of the job: jobs/\(folder.record.id)/"])
        let result: OperationResult =
            switch state {
            case .completed: .ok
            case .paused, .cancelled: .cancelled
            case .idle, .inProgress, .failed: .failed
            }
        let record = OperationRecord(
            .copy, startedAt: run.startedAt, durationMilliseconds: Int64(run.elapsedSeconds * 1_000), result: result,
            facts: facts)
        log?.note(record)
        if let place { try? ReportFolder(place.paths).add(OperationReport(record, error: nil, in: place.language)) }
        guard let place, result != .cancelled else { return }
        let error = result == .ok ? nil : BackupError(.inputOutput, "see the errors in \(folder.errors)")
        OperationNotification(.copy, named: folder.record.source, at: place, error: error).send()
    }
}
