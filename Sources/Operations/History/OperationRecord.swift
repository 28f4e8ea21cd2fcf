import BackupCore
import Formats
import Logging
import SystemIO

/// A finished operation, as the log and the history record it.
public struct OperationRecord: Sendable, Equatable {
    public let operation: OperationKind
    /// Whether only the schedule requested it.
    public let isAutomatic: Bool
    public let startedAt: Timestamp
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

    var logFields: [LogField: Logger.MetadataValue] {
        var fields: [LogField: Logger.MetadataValue] = [
            .operation: .string(operation.rawValue), .phase: "ended", .result: .string(result.rawValue),
            .startedAt: .string(ISO8601.format(startedAt)), .durationMilliseconds: durationMilliseconds.field,
        ]
        func put<Number: BinaryInteger>(_ field: LogField, _ number: Number?) {
            fields[field] = number.map { Int64(clamping: $0).field }
        }
        func put(_ field: LogField, _ word: String?) { fields[field] = word.map { .string($0) } }
        if isAutomatic { fields[.isAutomatic] = true.field }
        put(.sizeBytes, facts.sizeBytes)
        put(.fileCount, facts.fileCount)
        put(.recordCount, facts.recordCount)
        put(.storedByteCount, facts.storedByteCount)
        put(.freedByteCount, facts.freedByteCount)
        put(.removedCount, facts.removedCount)
        put(.unreadableCount, facts.unreadableCount)
        put(.snapshot, facts.snapshot)
        put(.safetyBackup, facts.safetyBackup)
        put(.strategy, facts.strategy)
        put(.format, facts.format)
        put(.outcome, facts.outcome)
        put(.error, facts.error?.rawValue)
        put(.fileKind, facts.fileKind?.rawValue)
        if facts.hasFailedHook { fields[.hooks] = "failed" }
        return fields
    }
}

/// The form of an operation in `history.jsonl` and in `status.json`. `backupfs history --json` prints it with names in
/// snake_case.
extension OperationRecord {
    /// The order is stable; unknown values are null.
    public var historyJSON: OrderedJSON {
        func number<Number: BinaryInteger>(_ value: Number?) -> OrderedJSON {
            value.map { .integer(Int64(clamping: $0)) } ?? .null
        }
        return .members([
            "operation": .text(operation.rawValue), "automatic": .boolean(isAutomatic),
            "startedAt": .text(ISO8601.format(startedAt)), "durationMilliseconds": .integer(durationMilliseconds),
            "result": .text(result.rawValue), "error": .optional(facts.error?.rawValue),
            "snapshot": .optional(facts.snapshot), "sizeBytes": number(facts.sizeBytes), "files": number(facts.fileCount),
            "records": number(facts.recordCount), "storedBytes": number(facts.storedByteCount),
            "freedBytes": number(facts.freedByteCount), "removed": number(facts.removedCount),
        ])
    }

    /// - Returns: `nil` for a line that a crash tore or that another version of the program wrote.
    init?(historyLine line: ArraySlice<UInt8>) {
        let members = JSONMembers(line)
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
        self.init(
            operation, isAutomatic: members.flag("automatic"), startedAt: startedAt, durationMilliseconds: milliseconds,
            result: result, facts: facts)
    }
}
