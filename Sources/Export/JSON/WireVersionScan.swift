import AppData
import BackupCore

/// Determines the version of a file's wire format before its records are read: members may come in any order.
enum WireVersionScan {
    /// - Returns: `nil` when the file does not declare it, or cannot be read that far: a later full read reports the errors.
    static func version(in source: any ByteSource, definition: AppDefinition) throws(BackupError) -> Int? {
        guard let field = definition.metadata.fields.first(where: { $0.source == .schemaVersion }) else { return nil }
        do throws(BackupError) {
            let tokenizer = JSONTokenizer(source)
            guard try tokenizer.next() == .beginObject else { return nil }
            if !definition.metadata.isInline, try find(definition.metadata.name, tokenizer) != .beginObject { return nil }
            guard try find(field.name, tokenizer) == .number, tokenizer.isInteger
            else { return nil }
            return try tokenizer.withText { (bytes) throws(BackupError) in JSONNumber.integer(bytes).flatMap { Int(exactly: $0) }
            }
        } catch let error where error.code != .inputOutput {
            return nil
        }
    }

    /// Advances to a member of the object that has begun.
    /// - Returns: the first token of its value; `nil` when there is no member of that name.
    private static func find(_ name: String, _ tokenizer: JSONTokenizer) throws(BackupError) -> JSONTokenizer.Token? {
        while try tokenizer.next() == .key {
            let isFound = name.utf8.elementsEqual(tokenizer.text().utf8)
            let token = try tokenizer.next()
            if isFound { return token }
            try tokenizer.skip(token)
        }
        return nil
    }
}
