import AppData
import BackupCore
import SystemIO

/// Writes the app's export format, in the form of the original data: two spaces of indentation, members in the definition's
/// order, spelling by its `WireStyle`. The same data always gives the same bytes.
public struct WireWriter {
    public init() {}

    /// Writes a whole snapshot.
    /// - Parameters:
    ///   - createdAt: the creation time in the metadata; a fraction of a second is dropped.
    ///   - omittingRecords: whether to write only the text around the collections, whose records are stored elsewhere.
    ///   - omittedCollections: the collections, by their index, of which only the text around them is written.
    ///   - recordWritten: called after every 1,000 records with the count so far, for progress.
    ///   - recordEnded: called after each record with its collection, and the bytes of this collection so far.
    /// - Throws: errors of the database or the sink.
    public func write(
        _ snapshot: DatabaseSnapshot, createdAt: Timestamp, to sink: any WireSink, omittingRecords: Bool = false,
        omittedCollections: Set<Int> = [], recordWritten: ((Int) -> Void)? = nil,
        recordEnded: ((_ collection: Int, _ byteCount: UInt64) -> Void)? = nil
    ) throws(BackupError) -> WireStatistics {
        let pass = WireWriterPass(
            definition: snapshot.definition, snapshot: snapshot, sink: sink,
            omitted: omittingRecords ? Set(snapshot.definition.collections.indices) : omittedCollections,
            recordWritten: recordWritten, recordEnded: recordEnded)
        return try pass.run(createdAt: createdAt)
    }

    /// Writes some records of a collection, with the separator before each, as they are in the whole collection; and its end.
    /// - Parameters:
    ///   - collection: its index; it must be in `rowTrees`.
    ///   - ranges: of row numbers, in ascending order.
    ///   - includingFirst: whether the first of these records is the first one of the collection.
    ///   - recordEnded: called after each record with the bytes so far.
    /// - Throws: errors of the database or the sink.
    public func writeRecords(
        of collection: Int, in ranges: [ClosedRange<Int64>], includingFirst: Bool, of snapshot: DatabaseSnapshot,
        to sink: any WireSink, recordEnded: (_ byteCount: UInt64) -> Void
    ) throws(BackupError) -> WireStatistics {
        let pass = WireWriterPass(definition: snapshot.definition, snapshot: snapshot, sink: sink)
        return try pass.records(of: collection, in: ranges, includingFirst: includingFirst, recordEnded: recordEnded)
    }
}

/// One run of an export.
private final class WireWriterPass {
    private let definition: AppDefinition
    private let spelling: WireSpelling
    private let snapshot: DatabaseSnapshot
    private let sink: any WireSink
    private let omitted: Set<Int>
    private let recordWritten: ((Int) -> Void)?
    private let recordEnded: ((Int, UInt64) -> Void)?
    private let literal: OutputBuffer
    private let records: OutputBuffer
    private var statistics: WireStatistics
    private var totalCount = 0
    /// After the last record of a collection that has any.
    private static let endOfRecords: StaticString = "\n  ]"

    init(
        definition: AppDefinition, snapshot: DatabaseSnapshot, sink: any WireSink, omitted: Set<Int> = [],
        recordWritten: ((Int) -> Void)? = nil, recordEnded: ((Int, UInt64) -> Void)? = nil
    ) {
        self.definition = definition
        spelling = WireSpelling(definition.style)
        self.snapshot = snapshot
        self.sink = sink
        self.omitted = omitted
        self.recordWritten = recordWritten
        self.recordEnded = recordEnded
        literal = OutputBuffer { bytes throws(BackupError) in try sink.write(literal: bytes) }
        records = OutputBuffer { bytes throws(BackupError) in try sink.write(collection: bytes) }
        statistics = WireStatistics(recordCounts: Array(repeating: 0, count: definition.collections.count))
    }

    func run(createdAt: Timestamp) throws(BackupError) -> WireStatistics {
        try literal.append("{")
        var isFirst = true
        let metadata = try metadata(createdAt)
        for member in definition.envelope {
            if case .metadataField(let index) = member, !isWritten(metadata, index, definition.metadata.fields[index]) {
                continue
            }
            if case .collection(let index) = member, try isLeftOut(index) { continue }
            try literal.append(isFirst ? "\n  " : ",\n  ")
            isFirst = false
            switch member {
            case .metadata: try object(definition.metadata, metadata)
            case .metadataField(let index):
                let field = definition.metadata.fields[index]
                try name(field.name, to: literal)
                try value(metadata, index, field, indentation: 2, to: literal) { "the export" }
            case .settings:
                guard let object = definition.settings, let buffer = try snapshot.settings() else { continue }
                try self.object(object, buffer)
            case .collection(let index): try collection(index)
            }
        }
        try literal.append(spelling.end)
        try literal.flush()
        return statistics
    }

    private func isLeftOut(_ index: Int) throws(BackupError) -> Bool {
        guard definition.collections[index].isOmittedWhenEmpty else { return false }
        return try snapshot.count(of: index) == 0
    }

    private func metadata(_ createdAt: Timestamp) throws(BackupError) -> RecordBuffer {
        let buffer = try snapshot.metadata()
        for (index, field) in definition.metadata.fields.enumerated() where field.source == .creationTime {
            buffer.set(index, time: createdAt, as: field.type)
        }
        return buffer
    }

    private func object(_ object: ObjectDefinition, _ buffer: RecordBuffer) throws(BackupError) {
        try name(object.name, to: literal)
        try members(WireObjectLayout(object.fields), object, buffer, indentation: 2)
    }

    /// Writes an object and its inner objects.
    /// - Parameter indentation: spaces before its closing brace.
    private func members(
        _ layout: WireObjectLayout, _ object: ObjectDefinition, _ buffer: RecordBuffer, indentation: Int
    ) throws(BackupError) {
        let space = "\n" + String(repeating: " ", count: indentation)
        try literal.append("{")
        var isFirst = true
        for member in layout.members {
            if case .field(let index) = member.content, !isWritten(buffer, index, object.fields[index]) { continue }
            try literal.append((isFirst ? "" : ",") + space + "  ")
            isFirst = false
            try name(member.name, to: literal)
            switch member.content {
            case .object(let inner): try members(inner, object, buffer, indentation: indentation + 2)
            case .field(let index):
                try value(buffer, index, object.fields[index], indentation: indentation + 2, to: literal) { object.name }
            }
        }
        try literal.append(isFirst ? "}" : space + "}")
    }

    private func collection(_ index: Int) throws(BackupError) {
        let collection = definition.collections[index]
        try name(collection.name, to: literal)
        try literal.flush()
        try sink.beginCollection(collection.name)
        if omitted.contains(index) { return try sink.endCollection(collection.name) }
        let start = records.byteCount
        try records.append("[")
        let parts = MemberParts(collection.fields, indentation: 6, spelling)
        var count = 0
        try snapshot.forEachRecord(of: index) { (record) throws(BackupError) in
            try self.record(record, of: collection, parts, isFirst: count == 0)
            count += 1
            totalCount += 1
            if let recordWritten, totalCount.isMultiple(of: 1_000) { recordWritten(totalCount) }
            recordEnded?(index, records.byteCount - start)
        }
        if count == 0 {
            try records.append(spelling.endOfEmptyArray(indentation: 2))
        } else {
            try records.append(Self.endOfRecords)
        }
        try records.flush()
        try sink.endCollection(collection.name)
        statistics.recordCounts[index] = count
    }

    @inline(__always)
    private func record(
        _ record: RecordBuffer, of collection: CollectionDefinition, _ parts: MemberParts, isFirst: Bool
    ) throws(BackupError) {
        try records.append(isFirst ? "\n    " : ",\n    ")
        try members(collection.fields, parts, record, to: records, closing: "\n    }") { Self.label(record, collection) }
    }

    func records(
        of index: Int, in ranges: [ClosedRange<Int64>], includingFirst: Bool, recordEnded: (UInt64) -> Void
    ) throws(BackupError) -> WireStatistics {
        let collection = definition.collections[index]
        let parts = MemberParts(collection.fields, indentation: 6, spelling)
        if includingFirst { try records.append("[") }
        try snapshot.forEachRecord(of: index, in: ranges) { (record) throws(BackupError) in
            try self.record(record, of: collection, parts, isFirst: includingFirst && statistics.recordCounts[index] == 0)
            statistics.recordCounts[index] += 1
            recordEnded(records.byteCount)
        }
        try records.append(Self.endOfRecords)
        try records.flush()
        return statistics
    }

    private static func label(_ record: RecordBuffer, _ collection: CollectionDefinition) -> String {
        switch record.value(collection.keyIndex) {
        case .integer(let number): "\(collection.singular) \(number)"
        case let key: "\(collection.singular) \(key.string ?? "?")"
        }
    }

    private func name(_ name: String, to output: OutputBuffer) throws(BackupError) {
        try output.append(MemberParts.quoted(name))
        try output.append(spelling.colon)
    }

    /// Writes an object from its opening to its closing brace.
    private func members(
        _ fields: [FieldDefinition], _ parts: MemberParts, _ record: RecordBuffer, to output: OutputBuffer, closing: StaticString,
        label: () -> String
    ) throws(BackupError) {
        try output.append(UInt8(ascii: "{"))
        var isFirst = true
        for index in 0..<parts.count {
            let kind = record.kind(index)
            let part = parts[index]
            // For SQLite values, null is a value: missing means that the table did not have the column.
            if kind == .missing || (kind == .null && part.type != .any && part.mayBeMissing) { continue }
            try parts.writeName(part, isFirst: isFirst, to: output)
            isFirst = false
            if part.type == .any || part.type == .dates {
                try value(record, index, fields[index], indentation: 6, to: output, label)
            } else if try !value(record, index, kind, to: output) || !part.type.holds(kind) {
                recordAnomaly("\(label()): \(fields[index].name) is not of the kind it should be")
            }
        }
        if isFirst {
            try output.append(UInt8(ascii: "}"))
        } else {
            try output.append(closing)
        }
    }

    /// Omits members without a value, where allowed.
    @inline(__always)
    private func isWritten(_ record: RecordBuffer, _ index: Int, _ field: FieldDefinition) -> Bool {
        switch record.kind(index) {
        case .missing: false
        // For SQLite values, null is a value: missing means that the table did not have the column.
        case .null: field.type == .any || !(field.isNullable || !field.isRequired)
        default: true
        }
    }

    /// - Parameter indentation: spaces before the member's name.
    @inline(__always)
    private func value(
        _ record: RecordBuffer, _ index: Int, _ field: FieldDefinition, indentation: Int, to output: OutputBuffer,
        _ label: () -> String
    ) throws(BackupError) {
        let kind = record.kind(index)
        if field.type == .any { return try AnyValueText.write(record, index, spelling, to: output) }
        if field.type == .dates, kind == .text, let dates = DateList.texts(record.bytes(index)) {
            return try write(dates, indentation: indentation, to: output)
        }
        if try !value(record, index, kind, to: output) || !field.type.holds(kind) || field.type == .dates {
            recordAnomaly("\(label()): \(field.name) is not of the kind it should be")
        }
    }

    private func write(_ texts: [ArraySlice<UInt8>], indentation: Int, to output: OutputBuffer) throws(BackupError) {
        let space = "\n" + String(repeating: " ", count: indentation)
        try output.append("[")
        for (index, text) in texts.enumerated() {
            try output.append((index == 0 ? "" : ",") + space + "  ")
            var outcome: Result<Bool, BackupError> = .success(true)
            text.withUnsafeBytes { bytes in
                outcome = Result { () throws(BackupError) in
                    try JSONText.write(bytes, to: output, escapesSlashes: spelling.escapesSlashes)
                }
            }
            _ = try outcome.get()
        }
        try output.append(texts.isEmpty ? spelling.endOfEmptyArray(indentation: indentation) : space + "]")
    }

    /// - Returns: false when JSON cannot express it exactly.
    private func value(
        _ record: RecordBuffer, _ index: Int, _ kind: RecordBuffer.Kind, to output: OutputBuffer
    ) throws(BackupError) -> Bool {
        switch kind {
        case .integer: try output.append(record.integer(index))
        case .real:
            let number = record.real(index)
            // JSON has no infinity; as a text it is at least preserved.
            try output.append(number.isFinite ? spelling.text(of: number) : "\"\(number)\"")
            return number.isFinite
        case .boolean: try output.append(record.boolean(index) ? "true" : "false")
        case .text, .number: return try JSONText.write(record.bytes(index), to: output, escapesSlashes: spelling.escapesSlashes)
        case .blob:
            try output.append("\"")
            try output.append(Hexadecimal.encode(record.bytes(index)))
            try output.append("\"")
        case .null, .missing, .array, .object: try output.append("null")
        }
        return true
    }

    private func recordAnomaly(_ anomaly: String) {
        statistics.anomalyCount += 1
        if statistics.anomalies.count < 100 { statistics.anomalies.append(anomaly) }
    }
}

/// The text before each member's value, computed once: `,\n      "name": `. Also the properties that every value needs, since
/// looking at its definition costs more than the value.
private final class MemberParts {
    struct Part {
        let type: FieldType
        /// Whether it is omitted when it is null.
        let mayBeMissing: Bool
        fileprivate let start: Int
        fileprivate let byteCount: Int
    }

    private let parts: [Part]
    // Not an array: its bytes are copied for every value, without bounds checks.
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ fields: [FieldDefinition], indentation: Int, _ spelling: WireSpelling) {
        let space = String(repeating: " ", count: indentation)
        var bytes: [UInt8] = []
        var parts: [Part] = []
        for field in fields {
            let text = Array(",\n\(space)\(Self.quoted(field.name))\(spelling.colon)".utf8)
            parts.append(
                Part(
                    type: field.type, mayBeMissing: field.isNullable || !field.isRequired, start: bytes.count,
                    byteCount: text.count))
            bytes += text
        }
        self.parts = parts
        self.bytes = .allocate(capacity: max(1, bytes.count))
        _ = self.bytes.initialize(fromContentsOf: bytes + (bytes.isEmpty ? [0] : []))
    }

    deinit { bytes.deallocate() }

    var count: Int { parts.count }
    subscript(index: Int) -> Part { parts[index] }

    func writeName(_ part: Part, isFirst: Bool, to output: OutputBuffer) throws(BackupError) {
        guard let base = bytes.baseAddress else { return }
        let skipped = isFirst ? 1 : 0
        try output.append(base + part.start + skipped, count: part.byteCount - skipped)
    }

    /// Names come from the definition, or from a database without one, and can contain any character.
    static func quoted(_ name: String) -> String {
        var text = "\""
        for scalar in name.unicodeScalars {
            if let byte = UInt8(exactly: scalar.value), let escape = JSONText.escape(of: byte) {
                text += escape
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

/// Statistics of a written export.
public struct WireStatistics: Sendable, Equatable {
    /// Number of records for each collection of the definition.
    public var recordCounts: [Int]
    /// The first 100 values that do not fit their field ("expenses 12: cost is a number"). They are written as in the database,
    /// so that nothing is lost, but a restore of this export would refuse them.
    public var anomalies: [String] = []
    /// Their number, also beyond the first 100.
    public var anomalyCount = 0

    /// Adds those of records that were written separately.
    public mutating func add(_ other: WireStatistics) {
        for index in recordCounts.indices { recordCounts[index] += other.recordCounts[index] }
        anomalies = Array((anomalies + other.anomalies).prefix(100))
        anomalyCount += other.anomalyCount
    }
}

/// Receives an export piece by piece. All pieces joined are `export.json`; those between `beginCollection` and `endCollection`
/// joined are `data/COLLECTION.json`.
public protocol WireSink: AnyObject {
    /// Bytes outside the collections.
    func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// Called before the first byte of a collection, an empty one too.
    func beginCollection(_ name: String) throws(BackupError)
    /// Bytes of the current collection, in pieces of any size.
    func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError)
    /// Called after its last byte, unless an error ends the export.
    func endCollection(_ name: String) throws(BackupError)
}

extension WireSink {
    public func beginCollection(_ name: String) throws(BackupError) {}
    public func endCollection(_ name: String) throws(BackupError) {}
}

/// Writes a whole export to an open file, at the descriptor's position.
public final class DescriptorSink: WireSink {
    private let descriptor: OwnedDescriptor

    public init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    public func write(literal bytes: UnsafeRawBufferPointer) throws(BackupError) { try descriptor.writeAll(bytes) }
    public func write(collection bytes: UnsafeRawBufferPointer) throws(BackupError) { try descriptor.writeAll(bytes) }

    /// fsync(2), for exports that must survive a power cut.
    public func synchronize() throws(BackupError) { try descriptor.synchronize() }
}
