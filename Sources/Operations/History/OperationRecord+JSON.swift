import BackupCore
import Export
import SystemIO

/// The form of an operation in `history.jsonl`, in `status.json` and in the output of `backupfs history --json`.
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

    private static var unusable: BackupError { BackupError(.damagedContent, "this is no line of a history") }
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
