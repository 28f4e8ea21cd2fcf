import BackupCore
import Formats
import SystemIO

/// A finished operation, as the log and the history record it.
public struct OperationRecord: Sendable, Equatable {
    public let operation: OperationKind
    /// Whether only the schedule requested it.
    public let isAutomatic: Bool
    /// By the clock of the host, in whole seconds.
    public let startedAt: Timestamp
    /// By a clock that nothing sets.
    public let durationMilliseconds: Int64
    public let result: OperationResult
    public let facts: OperationFacts

    public init(
        _ operation: OperationKind, isAutomatic: Bool = false, startedAt: Timestamp, durationMilliseconds: Int64,
        result: OperationResult, facts: OperationFacts = OperationFacts()
    ) {
        self.operation = operation
        self.isAutomatic = isAutomatic
        self.startedAt = startedAt.wholeSeconds
        self.durationMilliseconds = durationMilliseconds
        self.result = result
        self.facts = facts
    }

    /// `ok`, `failed (noSpace)`.
    public var resultText: String { result.rawValue + (facts.error.map { " (\($0.rawValue))" } ?? "") }

    var level: LogLevel {
        switch result {
        case .ok: facts.error == nil && !facts.hasFailedHook ? .info : .warning
        case .skipped: .info
        case .cancelled: .notice
        // The caller has already received the error.
        case .refused: .warning
        case .failed: .error
        }
    }

    func logFields(withCauses: Bool) -> KeyValuePairs<LogField, any JSONConvertible> {
        [
            .operation: operation.rawValue, .phase: "ended", .result: result.rawValue,
            .isAutomatic: isAutomatic ? Optional(true) : nil, .startedAt: startedAt,
            .durationMilliseconds: durationMilliseconds, .sizeBytes: facts.sizeBytes, .fileCount: facts.fileCount,
            .recordCount: facts.recordCount, .storedByteCount: facts.storedByteCount, .freedByteCount: facts.freedByteCount,
            .removedCount: facts.removedCount, .unreadableCount: facts.unreadableCount, .snapshot: facts.snapshot,
            .safetyBackup: facts.safetyBackup, .strategy: facts.strategy, .format: facts.format, .outcome: facts.outcome,
            .remote: facts.remote,
            .hooks: facts.hasFailedHook ? Optional("failed") : nil, .error: facts.error?.rawValue,
            .causes: withCauses ? facts.causes : nil, .fileKind: facts.fileKind?.rawValue,
        ]
    }
}

/// The form of an operation in `history.jsonl` and in `status.json`. `backupfs history --json` prints it with names in
/// snake_case.
extension OperationRecord {
    /// The order is stable; unknown values are null.
    public var historyJSON: OrderedJSON {
        [
            "operation": operation.rawValue, "automatic": isAutomatic, "startedAt": startedAt,
            "durationMilliseconds": durationMilliseconds, "result": result.rawValue, "error": facts.error?.rawValue,
            "snapshot": facts.snapshot, "sizeBytes": facts.sizeBytes, "files": facts.fileCount,
            "records": facts.recordCount, "storedBytes": facts.storedByteCount,
            "freedBytes": facts.freedByteCount, "removed": facts.removedCount,
            "remote": facts.remote,
        ]
    }

    /// - Returns: `nil` for a line that a crash tore or that another version of the program wrote.
    init?(historyLine line: ArraySlice<UInt8>) { self.init(JSONMembers(line)) }

    /// - Returns: `nil` for members that are not those of an operation.
    init?(_ members: JSONMembers) {
        guard members.isFlat, let operation: OperationKind = members.word("operation"),
            let result: OperationResult = members.word("result"), let startedAt = members.time("startedAt"),
            let milliseconds: Int64 = members.number("durationMilliseconds")
        else { return nil }
        var facts = OperationFacts()
        facts.error = members.word("error")
        facts.snapshot = members.text("snapshot")
        facts.sizeBytes = members.number("sizeBytes")
        facts.fileCount = members.number("files")
        facts.recordCount = members.number("records")
        facts.storedByteCount = members.number("storedBytes")
        facts.freedByteCount = members.number("freedBytes")
        facts.removedCount = members.number("removed")
        facts.remote = members.text("remote")
        self.init(
            operation, isAutomatic: members.flag("automatic"), startedAt: startedAt, durationMilliseconds: milliseconds,
            result: result, facts: facts)
    }
}
