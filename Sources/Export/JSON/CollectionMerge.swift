import BackupCore

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
