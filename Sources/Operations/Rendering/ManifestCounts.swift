import BackupCore
import Formats
import SystemIO

/// The record counts in a backup's `manifest.json`, by collection.
enum ManifestCounts {
    /// - Throws: `damagedContent` when it is not a manifest.
    static func read(_ manifest: any ByteSource) throws(BackupError) -> [String: Int] {
        let unusable = BackupError(.damagedContent, "the manifest has no numbers of records")
        do throws(BackupError) {
            let tokenizer = JSONTokenizer(manifest)
            var counts: [String: Int]?
            guard try tokenizer.next() == .beginObject else { throw unusable }
            try tokenizer.forEachMember { (name, value) throws(BackupError) in
                guard name == "records", value == .beginObject else { return }
                var found: [String: Int] = [:]
                try tokenizer.forEachMember { (name, value) throws(BackupError) in
                    guard value == .number, let count = Int(tokenizer.text()) else { throw unusable }
                    found[name] = count
                }
                counts = found
            }
            guard let counts else { throw unusable }
            return counts
        } catch let error where error.code == .invalidContent {
            throw unusable
        }
    }
}
