import BackupCore
import SystemIO

extension Store {
    /// The log as the settings have it now.
    public var log: OperationLog {
        var settings = settings.log
        // An editor may have written it into the settings. A log makes no operation fail.
        if let path = settings.path, (try? outputPlaces.check(paths.resolve(path), isLog: true)) == nil { settings.path = nil }
        return OperationLog(
            level: logOverrides.level ?? settings.level,
            sink: logOverrides.sink(settings, ownPath: paths.operationLog) { paths.resolve($0) }, app: definition.name)
    }

    /// Runs an operation, and tells the log and the history when it has ended, however it has.
    /// - Parameter body: notes what it knows of itself.
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

    /// Tells of an operation that has ended.
    public func remember(_ record: OperationRecord) {
        log.note(record)
        guard record.operation.isRemembered else { return }
        // The operation has been told of elsewhere; a history that cannot be written makes none fail.
        try? OperationHistory(path: paths.history).append(record)
    }
}
