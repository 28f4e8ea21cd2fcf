import BackupCore

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

    public var added = Changes()
    public var changed = Changes()
    public var removed = Changes()

    public init() {}

    /// Compares two arrays of objects (`data/COLLECTION.json`) by the member `key`. Both are streamed: in one pass if both are in ascending key order, as
    /// exports are, otherwise in one pass per 250,000 records. White space does not count as a change, the order of members does.
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
