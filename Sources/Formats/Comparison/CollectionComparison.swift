import BackupCore
import SystemIO

/// The changes in a collection from one export to the next.
public struct CollectionComparison: Sendable, Equatable {
    /// Keys beyond this number are counted, but not listed.
    public static let keyLimit = 10_000

    /// Records of one kind of change.
    public struct Changes: Sendable, Equatable {
        /// The exact number.
        public var count = 0
        /// The first keys, in collection order.
        public var keys: [JSONKey] = []

        mutating func add(_ key: JSONKey) {
            count += 1
            if keys.count < CollectionComparison.keyLimit { keys.append(key) }
        }
    }

    /// Records that only the later export has.
    public var added = Changes()
    /// Records that both have, with different values.
    public var changed = Changes()
    /// Records that only the earlier export has.
    public var removed = Changes()

    public init() {}

    /// Compares two arrays of objects (`data/COLLECTION.json`) by the member `key`. Both are streamed: in one pass if both are in
    /// ascending key order, as exports are, otherwise in one pass per 250,000 records. White space does not count as a change,
    /// the order of members does.
    ///
    /// - Parameters:
    ///   - ignoredFields: members of the records that are not compared.
    ///   - commonRanges: byte ranges that both have in common, in ascending order. They are skipped instead of read, if
    ///     `WireWriter` wrote both; pass none for others.
    /// - Throws: `damagedContent` when one of them is not such an array, or a key is missing or occurs twice.
    public static func compare(
        old: any ByteSource, new: any ByteSource, key: String, ignoredFields: Set<String> = [], commonRanges: [CommonRange] = []
    ) throws(BackupError) -> CollectionComparison {
        let merged = try CollectionMerge.compare(
            old: old, new: new, key: key, ignoredFields: ignoredFields, commonRanges: commonRanges)
        if let merged { return merged }
        return try CollectionPartitions.compare(old: old, new: new, key: key, ignoredFields: ignoredFields)
    }

    /// The same without an older state: every record is added.
    ///
    /// - Parameter count: the number of records, if known: then reading stops after the listed keys.
    public static func adding(
        _ source: any ByteSource, key: String, count: Int? = nil
    ) throws(BackupError) -> CollectionComparison {
        var result = CollectionComparison()
        let cursor = RecordCursor(source, key: key)
        while try cursor.advance() {
            if let key = cursor.key { result.added.add(key) }
            if let count, result.added.keys.count == keyLimit {
                result.added.count = count
                break
            }
        }
        return result
    }
}

extension CollectionComparison {
    /// Compares two states of a collection. One of them may be missing, and its key may have a different name in each.
    /// - Parameters:
    ///   - knownKey: the key's name; `nil` to use the first member of the records.
    ///   - newCount: the number of records in `new`, if known.
    ///   - ignoredFields, commonRanges: as for `compare(old:new:key:ignoredFields:commonRanges:)`.
    public static func compare(
        old: (any ByteSource)?, new: (any ByteSource)?, knownKey: String?, newCount: Int? = nil, ignoredFields: Set<String> = [],
        commonRanges: [CommonRange] = []
    ) throws(BackupError) -> CollectionComparison {
        let oldKey = try key(of: old, knownKey)
        let newKey = try key(of: new, knownKey)
        if let old, let new, oldKey == newKey || oldKey == nil || newKey == nil {
            return try compare(
                old: old, new: new, key: newKey ?? oldKey ?? "id", ignoredFields: ignoredFields, commonRanges: commonRanges)
        }
        var result = CollectionComparison()
        // Removed records are added ones, seen from the other side.
        if let old { result.removed = try adding(old, key: oldKey ?? "id").added }
        if let new { result.added = try adding(new, key: newKey ?? "id", count: newCount).added }
        return result
    }

    /// - Returns: `nil` when there are no records to derive it from.
    public static func key(of source: (any ByteSource)?, _ knownKey: String?) throws(BackupError) -> String? {
        guard knownKey == nil, let source else { return knownKey }
        let tokenizer = JSONTokenizer(source, bufferSizeBytes: 8 << 10)
        do throws(BackupError) {
            guard try tokenizer.next() == .beginArray, try tokenizer.next() == .beginObject, try tokenizer.next() == .key else {
                return nil
            }
            return tokenizer.text()
        } catch let error where error.code == .invalidContent {
            throw RecordCursor.damaged(error.findings.first ?? error.message)
        }
    }
}

/// Compares two collections in ascending key order, side by side.
enum CollectionMerge {
    /// - Parameters:
    ///   - ignoredFields: members of the records that are not compared.
    ///   - commonRanges: byte ranges that both have in common; skipped where possible.
    /// - Returns: `nil` when one of them is not in order.
    static func compare(
        old: any ByteSource, new: any ByteSource, key: String, ignoredFields: Set<String>, commonRanges: [CommonRange]
    ) throws(BackupError) -> CollectionComparison? {
        var result = CollectionComparison()
        let common = CommonRecords(commonRanges, old: old, new: new)
        func cursor(_ source: any ByteSource) throws(BackupError) -> OrderedCursor {
            try OrderedCursor(RecordCursor(source, key: key, ignoredFields: ignoredFields, isSkipping: !commonRanges.isEmpty))
        }
        let before = try cursor(old)
        let after = try cursor(new)
        while true {
            if before.isOutOfOrder || after.isOutOfOrder { return nil }
            switch (before.key, after.key) {
            case (nil, nil): return result
            case (nil, let newKey?):
                result.added.add(newKey)
                try after.advance()
            case (let oldKey?, nil):
                result.removed.add(oldKey)
                try before.advance()
            case (let oldKey?, let newKey?):
                if oldKey < newKey {
                    result.removed.add(oldKey)
                    try before.advance()
                } else if newKey < oldKey {
                    result.added.add(newKey)
                    try after.advance()
                } else {
                    if before.content != after.content { result.changed.add(newKey) }
                    if let comma = try common.comma(after: before.place, after.place) {
                        before.skip(toCommaAt: comma.old)
                        after.skip(toCommaAt: comma.new)
                    }
                    try before.advance()
                    try after.advance()
                }
            }
        }
    }
}

/// A cursor that starts on the first record, and detects keys that do not ascend.
private final class OrderedCursor {
    private let cursor: RecordCursor
    private(set) var key: JSONKey?
    private(set) var isOutOfOrder = false
    var content: [UInt8] { cursor.content }
    var place: UInt64 { cursor.place }

    init(_ cursor: RecordCursor) throws(BackupError) {
        self.cursor = cursor
        try advance()
    }

    func skip(toCommaAt offset: UInt64) { cursor.skip(toCommaAt: offset) }

    func advance() throws(BackupError) {
        let last = key
        key = try cursor.advance() ? cursor.key : nil
        if let last, let key, key <= last { isOutOfOrder = true }
    }
}

/// Compares collections in any order: partitions the keys by a hash, and compares each partition in a separate pass, so that the
/// partition bounds the memory use.
enum CollectionPartitions {
    static let recordsInPart = 250_000

    static func compare(
        old: any ByteSource, new: any ByteSource, key: String, ignoredFields: Set<String>
    ) throws(BackupError) -> CollectionComparison {
        func cursor(_ source: any ByteSource) -> RecordCursor { RecordCursor(source, key: key, ignoredFields: ignoredFields) }
        let count = max(try count(cursor(old)), try count(cursor(new)))
        let partCount = count / recordsInPart + 1
        var result = CollectionComparison()
        for part in 0..<partCount {
            try compare(old: cursor(old), new: cursor(new), part: part, of: partCount, into: &result)
        }
        return result
    }

    private static func count(_ cursor: RecordCursor) throws(BackupError) -> Int {
        var count = 0
        while try cursor.advance() { count += 1 }
        return count
    }

    private static func compare(
        old: RecordCursor, new: RecordCursor, part: Int, of partCount: Int, into result: inout CollectionComparison
    ) throws(BackupError) {
        var before: [JSONKey: SHA256Digest] = [:]
        var order: [JSONKey] = []
        try forEach(old, part, partCount) { key, content throws(BackupError) in
            guard before.updateValue(SHA256Hasher.hash(content), forKey: key) == nil else {
                throw RecordCursor.damaged("the key \(key) occurs twice")
            }
            order.append(key)
        }
        var seen: Set<JSONKey> = []
        try forEach(new, part, partCount) { key, content throws(BackupError) in
            guard seen.insert(key).inserted else { throw RecordCursor.damaged("the key \(key) occurs twice") }
            switch before[key] {
            case nil: result.added.add(key)
            case SHA256Hasher.hash(content): break
            default: result.changed.add(key)
            }
        }
        for key in order where !seen.contains(key) { result.removed.add(key) }
    }

    private static func forEach(
        _ cursor: RecordCursor, _ part: Int, _ partCount: Int, _ body: (JSONKey, [UInt8]) throws(BackupError) -> Void
    ) throws(BackupError) {
        while try cursor.advance() {
            guard let key = cursor.key, self.part(of: key, partCount) == part else { continue }
            try body(key, cursor.content)
        }
    }

    /// A key falls into the same partition in every pass.
    private static func part(of key: JSONKey, _ partCount: Int) -> Int {
        guard partCount > 1 else { return 0 }
        switch key {
        case .integer(let number): return Int(number.magnitude % UInt64(partCount))
        case .text(let bytes): return Int(CRC32.of(bytes) % UInt32(partCount))
        }
    }
}
