import BackupCore

/// Compares two collections that are in ascending order of their keys, side by side.
enum CollectionMerge {
    /// - Returns: `nil` when one of them turns out not to be in order.
    static func compare(
        old: (any ByteSource)?, new: any ByteSource, key: String
    ) throws(BackupError) -> CollectionComparison? {
        var result = CollectionComparison()
        let before = try old.map { (source) throws(BackupError) in try OrderedCursor(source, key: key) }
        let after = try OrderedCursor(new, key: key)
        while true {
            if before?.isOutOfOrder == true || after.isOutOfOrder { return nil }
            switch (before?.key, after.key) {
            case (nil, nil): return result
            case (nil, let newKey?):
                result.added.add(newKey)
                try after.advance()
            case (let oldKey?, nil):
                result.removed.add(oldKey)
                try before?.advance()
            case (let oldKey?, let newKey?):
                if oldKey < newKey {
                    result.removed.add(oldKey)
                    try before?.advance()
                } else if newKey < oldKey {
                    result.added.add(newKey)
                    try after.advance()
                } else {
                    if before?.content == after.content { result.unchangedCount += 1 } else { result.changed.add(newKey) }
                    try before?.advance()
                    try after.advance()
                }
            }
        }
    }
}

/// A cursor that stands on a record from the beginning, and notices keys that do not ascend.
private final class OrderedCursor {
    private let cursor: RecordCursor
    private(set) var key: JSONKey?
    private(set) var isOutOfOrder = false
    var content: [UInt8] { cursor.content }

    init(_ source: any ByteSource, key: String) throws(BackupError) {
        cursor = RecordCursor(source, key: key)
        try advance()
    }

    func advance() throws(BackupError) {
        let last = key
        key = try cursor.advance() ? cursor.key : nil
        if let last, let key, key <= last { isOutOfOrder = true }
    }
}
