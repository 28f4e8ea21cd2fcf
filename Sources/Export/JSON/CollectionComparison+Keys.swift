import BackupCore

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
