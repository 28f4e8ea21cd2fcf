import BackupCore
import SystemIO

extension Store {
    /// The log according to the current settings.
    public var log: OperationLog {
        var settings = settings.log
        // An editor may have put an unusable path into the settings. The log must not make an operation fail.
        if let path = settings.path, (try? outputPlaces.check(paths.resolve(path), isLog: true)) == nil { settings.path = nil }
        return OperationLog(
            level: logOverrides.level ?? settings.level,
            sink: logOverrides.sink(settings, ownPath: paths.operationLog) { paths.resolve($0) }, app: definition.name)
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
        func record(_ result: OperationResult) {
            remember(
                OperationRecord(
                    operation, isAutomatic: isAutomatic, startedAt: startedAt,
                    durationMilliseconds: Int64((SystemClock.monotonicNanoseconds() - began) / 1_000_000),
                    result: facts.result ?? result, facts: facts))
        }
        do {
            let result = try body(&facts)
            record(.ok)
            return result
        } catch {
            facts.error = error.code
            if facts.fileKind == nil { facts.fileKind = error.path.flatMap(kind) }
            record(OperationResult(error.code))
            throw error
        }
    }

    /// Records a finished operation.
    public func remember(_ record: OperationRecord) {
        log.note(record)
        guard record.operation.isRemembered else { return }
        // The operation is reported elsewhere too; a history that cannot be written is not a failure.
        try? OperationHistory(path: paths.history).append(record)
    }
}
