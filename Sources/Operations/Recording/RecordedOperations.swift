import BackupCore
import SystemIO

extension OperationLog {
    /// The log of a store.
    /// - Parameter places: looked at only if the settings name a file: the disk of the app's data may not respond.
    init(
        _ settings: LogSettings, _ overrides: LogOverrides, _ paths: StorePaths, _ places: @autoclosure () -> OutputPaths,
        app: String
    ) {
        var settings = settings
        // An editor may have put an unusable path into the settings. The log must not make an operation fail.
        if let path = settings.path, (try? places().check(paths.resolve(path), isLog: true)) == nil { settings.path = nil }
        self.init(
            level: overrides.level ?? settings.level,
            sink: overrides.sink(settings, ownPath: paths.operationLog) { paths.resolve($0) }, app: app)
    }
}

extension Store {
    /// The log according to the current settings.
    public var log: OperationLog {
        OperationLog(settings.log, logOverrides, paths, outputPlaces, app: definition.name)
    }

    /// Runs an operation and records its end, however it ends, in the log and the history.
    /// - Parameter body: adds what it knows about itself to the facts.
    public func recorded<Result>(
        _ operation: OperationKind, isAutomatic: Bool = false,
        _ body: (_ facts: inout OperationFacts) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        log.noteBeginning(operation, isAutomatic: isAutomatic)
        let startedAt = SystemClock.now()
        let began = SystemClock.monotonicNanoseconds()
        var facts = OperationFacts()
        facts.remote = remoteName
        func record(_ result: OperationResult, _ error: BackupError? = nil) {
            remember(
                OperationRecord(
                    operation, isAutomatic: isAutomatic, startedAt: startedAt,
                    durationMilliseconds: Int64((SystemClock.monotonicNanoseconds() - began) / 1_000_000),
                    result: facts.result ?? result, facts: facts), error)
        }
        do {
            let result = try body(&facts)
            record(.ok)
            return result
        } catch {
            facts.note(error)
            if facts.fileKind == nil { facts.fileKind = error.path.flatMap(kind) }
            record(OperationResult(error.code), error)
            throw error
        }
    }

    /// Records a finished operation.
    /// - Parameter error: that ended it, for its report.
    public func remember(_ record: OperationRecord, _ error: BackupError? = nil) {
        log.note(record)
        if OperationReport.isKept(of: record) {
            try? ReportFolder(paths).add(OperationReport(record, error: error, in: language))
        }
        guard record.operation.isRemembered else { return }
        // The operation is reported elsewhere too; a history that cannot be written is not a failure.
        try? OperationHistory(path: paths.history).append(record)
    }
}
