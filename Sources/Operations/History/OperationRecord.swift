import BackupCore
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
