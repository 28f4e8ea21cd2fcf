import BackupCore
import SystemIO

/// Collects statistics about records.
public final class RecordStatistics: RecordVisitor {
    private let definition: AppDefinition
    /// One for each collection except those whose records only describe files.
    public var collections: [CollectionStatistics] {
        zip(definition.collections, all).filter { $0.0.source != .manifest }.map(\.1)
    }
    private var all: [CollectionStatistics]

    public init(_ definition: AppDefinition) {
        self.definition = definition
        all = definition.collections.map(CollectionStatistics.init)
    }

    public func visit(record: RecordBuffer, of collection: Int) { all[collection].add(record) }
}

/// Statistics about the records of one collection.
public struct CollectionStatistics: Sendable {
    /// A field with more different texts than this is not counted by text: they are names and notes, not kinds.
    public static let kindLimit = 50

    /// The values of a numeric field in all records that have one.
    public struct Numbers: Sendable, Equatable {
        /// Number of values, without null and missing ones.
        public var count = 0
        /// Infinity when there are no values.
        public var minimum = Double.infinity
        /// Minus infinity when there are no values.
        public var maximum = -Double.infinity
        /// 0 when there are no values.
        public var sum = 0.0

        mutating func add(_ number: Double) {
            count += 1
            minimum = min(minimum, number)
            maximum = max(maximum, number)
            sum += number
        }
    }

    /// The name on the wire.
    public let name: String
    /// The name for people ("cars").
    public let plural: String
    /// Number of records.
    public private(set) var count = 0
    /// The number of records in which a boolean is true, by field name.
    public private(set) var trueCounts: [String: Int] = [:]
    /// The frequency of each text, for fields with few different texts.
    public private(set) var kinds: [String: [String: Int]] = [:]
    /// By field name.
    public private(set) var numbers: [String: Numbers] = [:]
    /// The first date in any record; `nil` when none has one.
    public private(set) var earliest: Timestamp?
    /// The last date in any record.
    public private(set) var latest: Timestamp?
    /// Records per month in UTC, `2026-01`.
    public private(set) var months: [String: Int] = [:]
    private var hasManyKinds: Set<String> = []
    private let definition: CollectionDefinition

    init(_ definition: CollectionDefinition) {
        self.definition = definition
        name = definition.name
        plural = definition.plural
        for field in definition.fields where field.type == .boolean { trueCounts[field.name] = 0 }
    }

    /// In the definition's order.
    public var fieldNames: [String] { definition.fields.map(\.name) }

    mutating func add(_ record: RecordBuffer) {
        count += 1
        for (index, field) in definition.fields.enumerated() where index != definition.keyIndex && field.reference == nil {
            switch (field.type, record.kind(index)) {
            case (.boolean, .boolean): if record.boolean(index) { trueCounts[field.name, default: 0] += 1 }
            case (.integer, .integer), (.double, .integer), (.double, .real):
                numbers[field.name, default: Numbers()].add(record.number(index))
            case (.text, .text): addKind(record.bytes(index), field.name)
            default: continue
            }
        }
        guard let index = definition.dateRangeIndex, let time = record.time(index, as: definition.fields[index].type) else {
            return
        }
        earliest = min(earliest ?? time, time)
        latest = max(latest ?? time, time)
        months[String(ISO8601.format(time.wholeSeconds).prefix(7)), default: 0] += 1
    }

    private mutating func addKind(_ bytes: UnsafeRawBufferPointer, _ field: String) {
        guard !hasManyKinds.contains(field) else { return }
        // Long texts are not kinds either.
        guard bytes.count <= 100 else { return forget(field) }
        kinds[field, default: [:]][String(decoding: bytes, as: UTF8.self), default: 0] += 1
        if kinds[field, default: [:]].count > Self.kindLimit { forget(field) }
    }

    private mutating func forget(_ field: String) {
        kinds[field] = nil
        hasManyKinds.insert(field)
    }
}
