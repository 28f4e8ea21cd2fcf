import BackupCore
import SystemIO

/// Compares collections in any order: partitions the keys by a hash, and compares each partition in a separate pass, so that the partition bounds the
/// memory use.
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
