import BackupCore

/// Reads two texts from each record of a collection.
public enum ManifestMembers {
    /// - Parameter source: an array of objects, as `WireWriter` writes it. Skips records without one of the members.
    /// - Throws: `damagedContent` when it is not such an array.
    public static func forEach(
        in source: any ByteSource, _ first: String, _ second: String,
        _ body: ([UInt8], [UInt8]) throws(BackupError) -> Void
    ) throws(BackupError) {
        let tokenizer = JSONTokenizer(source)
        do throws(BackupError) {
            guard try tokenizer.next() == .beginArray else { throw tokenizer.failure("it is no array") }
            while try tokenizer.next() == .beginObject {
                var texts: [[UInt8]?] = [nil, nil]
                while try tokenizer.next() == .key {
                    let index = [first, second].firstIndex(of: tokenizer.text())
                    let token = try tokenizer.next()
                    if let index, token == .string {
                        texts[index] = try tokenizer.withText { (bytes) throws(BackupError) in Array(bytes) }
                    } else {
                        try tokenizer.skip(token)
                    }
                }
                if let first = texts[0], let second = texts[1] { try body(first, second) }
            }
        } catch let error where error.code == .invalidContent {
            throw RecordCursor.damaged(error.findings.first ?? error.message)
        }
    }
}
