import BackupCore
import Formats
import Logging
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
        guard let members = try? Self.members(of: line),
            let operation = members["operation"].flatMap({ OperationKind(rawValue: $0) }),
            let result = members["result"].flatMap({ OperationResult(rawValue: $0) }),
            let startedAt = members["startedAt"].flatMap({ ISO8601.parse($0) }),
            let milliseconds = members["durationMilliseconds"].flatMap({ Int64($0) })
        else { return nil }
        var facts = OperationFacts()
        facts.error = members["error"].flatMap { BackupError.Code(rawValue: $0) }
        facts.snapshot = members["snapshot"]
        facts.sizeBytes = members["sizeBytes"].flatMap { UInt64($0) }
        facts.fileCount = members["files"].flatMap { UInt64($0) }
        facts.recordCount = members["records"].flatMap { UInt64($0) }
        facts.storedByteCount = members["storedBytes"].flatMap { UInt64($0) }
        facts.freedByteCount = members["freedBytes"].flatMap { UInt64($0) }
        facts.removedCount = members["removed"].flatMap { Int($0) }
        self.init(
            operation, isAutomatic: members["automatic"] == "true", startedAt: startedAt, durationMilliseconds: milliseconds,
            result: result, facts: facts)
    }

    /// The texts and numbers of the line as text; without nulls.
    private static func members(of line: ArraySlice<UInt8>) throws(BackupError) -> [String: String] {
        let tokenizer = JSONTokenizer(LineSource(line), bufferSizeBytes: 4_096)
        var members: [String: String] = [:]
        guard try tokenizer.next() == .beginObject else { throw unusable }
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            switch try tokenizer.next() {
            case .string, .number: members[name] = tokenizer.text()
            case .true: members[name] = "true"
            case .false: members[name] = "false"
            case .null: break
            case .beginObject, .endObject, .beginArray, .endArray, .key, .end: throw unusable
            }
        }
        guard try tokenizer.next() == .end else { throw unusable }
        return members
    }

    private static var unusable: BackupError { BackupError(.damagedContent, "this is not a line of a history") }
}

/// A line in memory.
private final class LineSource: ByteSource {
    private let bytes: [UInt8]

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = Array(bytes) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let rest = bytes[min(bytes.count, Int(clamping: offset))...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}
