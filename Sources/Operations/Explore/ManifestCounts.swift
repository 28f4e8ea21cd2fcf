import BackupCore
import Export

/// The record counts in a backup's `manifest.json`, by collection.
enum ManifestCounts {
    /// - Throws: `damagedContent` when it is not a manifest.
    static func read(_ manifest: any ByteSource) throws(BackupError) -> [String: Int] {
        do throws(BackupError) {
            let tokenizer = JSONTokenizer(manifest)
            var counts: [String: Int]?
            guard try tokenizer.next() == .beginObject else { throw unusable }
            while try tokenizer.next() == .key {
                let name = tokenizer.text()
                let value = try tokenizer.next()
                if name == "records", value == .beginObject {
                    counts = try members(tokenizer)
                } else {
                    try tokenizer.skip(value)
                }
            }
            guard let counts else { throw unusable }
            return counts
        } catch let error where error.code == .invalidContent {
            throw unusable
        }
    }

    private static func members(_ tokenizer: JSONTokenizer) throws(BackupError) -> [String: Int] {
        var counts: [String: Int] = [:]
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            guard try tokenizer.next() == .number, let count = Int(tokenizer.text()) else { throw unusable }
            counts[name] = count
        }
        return counts
    }

    private static var unusable: BackupError { BackupError(.damagedContent, "the manifest has no numbers of records") }
}
