import BackupCore

/// Iterates over an array of objects record by record. Returns each one's key and its content in a form that ignores white space
/// and ways of escaping.
final class RecordCursor {
    private let tokenizer: JSONTokenizer
    private let keyName: [UInt8]
    private let ignoredNames: [[UInt8]]
    private let skipsUnusableKeys: Bool
    private var hasBegun = false
    private(set) var key: JSONKey?
    /// The tokens of the current record, in order, each with its text.
    private(set) var content: [UInt8] = []
    /// The beginning of the current record, in bytes.
    private(set) var start: UInt64 = 0

    /// - Parameters:
    ///   - ignoredFields: members of the records that are left out of their content.
    ///   - isSkipping: whether most of the records will be skipped, so that reading far ahead does not pay off.
    ///   - skipsUnusableKeys: whether records without a key that is a whole number or a text are passed over.
    init(
        _ source: any ByteSource, key: String, ignoredFields: Set<String> = [], isSkipping: Bool = false,
        skipsUnusableKeys: Bool = false
    ) {
        self.skipsUnusableKeys = skipsUnusableKeys
        tokenizer = isSkipping ? JSONTokenizer(source, bufferSizeBytes: 8 << 10) : JSONTokenizer(source)
        keyName = Array(key.utf8)
        ignoredNames = ignoredFields.map { Array($0.utf8) }
    }

    /// The end of the current record, in bytes.
    var place: UInt64 { tokenizer.place }

    /// Skips all records up to a comma between two of them.
    func skip(toCommaAt offset: UInt64) { tokenizer.skipElements(toCommaAt: offset) }

    static func damaged(_ reason: Message) -> BackupError {
        BackupError(.damagedContent, "an exported collection cannot be read: \(reason)")
    }

    /// - Returns: false when there are no more records.
    func advance() throws(BackupError) -> Bool {
        do throws(BackupError) {
            if !hasBegun {
                guard try tokenizer.next() == .beginArray else { throw Self.damaged("it is not an array") }
                hasBegun = true
            }
            while true {
                guard try readRecord() else { return false }
                if key != nil { return true }
            }
        } catch {
            if error.code == .invalidContent { throw Self.damaged(error.findings.first ?? error.message) }
            throw error
        }
    }

    private func readRecord() throws(BackupError) -> Bool {
        key = nil
        content.removeAll(keepingCapacity: true)
        switch try tokenizer.next() {
        case .endArray:
            _ = try tokenizer.next()
            return false
        case .beginObject: start = tokenizer.place - 1
        default: throw Self.damaged("one of its elements is not an object")
        }
        var depth = 1
        while depth > 0 {
            let token = try tokenizer.next()
            switch token {
            case .beginObject, .beginArray: depth += 1
            case .endObject, .endArray: depth -= 1
            default: break
            }
            let isField = token == .key && depth == 1
            if isField, try isNamed(ignoredNames) {
                try tokenizer.skip(tokenizer.next())
                continue
            }
            try append(token)
            guard isField, try isNamed([keyName]) else { continue }
            let value = try tokenizer.next()
            try append(value)
            key = try key(from: value)
        }
        guard key != nil || skipsUnusableKeys else { throw Self.damaged("one of its records has no key") }
        return true
    }

    private func isNamed(_ names: [[UInt8]]) throws(BackupError) -> Bool {
        guard !names.isEmpty else { return false }
        return try tokenizer.withText { (bytes) throws(BackupError) in names.contains { bytes.elementsEqual($0) } }
    }

    private func key(from token: JSONTokenizer.Token) throws(BackupError) -> JSONKey? {
        switch token {
        case .string: return try tokenizer.withText { (bytes) throws(BackupError) in .text(Array(bytes)) }
        case .number where tokenizer.isInteger:
            if let number = try tokenizer.withText({ (bytes) throws(BackupError) in JSONNumber.integer(bytes) }) {
                return .integer(number)
            }
        default: break
        }
        if skipsUnusableKeys { return nil }
        throw Self.damaged("the key of one of its records is neither a whole number nor a text")
    }

    private func append(_ token: JSONTokenizer.Token) throws(BackupError) {
        switch token {
        case .beginObject: content.append(RecordToken.beginObject)
        case .endObject: content.append(RecordToken.endObject)
        case .beginArray: content.append(RecordToken.beginArray)
        case .endArray: content.append(RecordToken.endArray)
        case .true: content.append(RecordToken.true)
        case .false: content.append(RecordToken.false)
        case .null: content.append(RecordToken.null)
        case .key: try appendText(RecordToken.key)
        case .string: try appendText(RecordToken.string)
        case .number: try appendText(RecordToken.number)
        case .end: break
        }
    }

    private func appendText(_ kind: UInt8) throws(BackupError) {
        content.append(kind)
        try tokenizer.withText { (bytes) throws(BackupError) in
            // The length keeps two different sequences of texts from having the same bytes.
            withUnsafeBytes(of: UInt32(bytes.count)) { content.append(contentsOf: $0) }
            content.append(contentsOf: bytes)
        }
    }
}

/// The bytes that stand for the tokens in the content of a record.
enum RecordToken {
    static let beginObject: UInt8 = 1
    static let endObject: UInt8 = 2
    static let beginArray: UInt8 = 3
    static let endArray: UInt8 = 4
    static let `true`: UInt8 = 5
    static let `false`: UInt8 = 6
    static let null: UInt8 = 7
    /// These three are followed by their text: its length in four bytes, and its bytes.
    static let key: UInt8 = 8
    static let string: UInt8 = 9
    static let number: UInt8 = 10
}

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
            guard try tokenizer.next() == .beginArray else { throw tokenizer.failure("it is not an array") }
            while try tokenizer.next() == .beginObject {
                var texts: [[UInt8]?] = [nil, nil]
                try tokenizer.forEachMember { (name, value) throws(BackupError) in
                    guard value == .string, let index = [first, second].firstIndex(of: name) else { return }
                    texts[index] = try tokenizer.withText { (bytes) throws(BackupError) in Array(bytes) }
                }
                if let first = texts[0], let second = texts[1] { try body(first, second) }
            }
        } catch let error where error.code == .invalidContent {
            throw RecordCursor.damaged(error.findings.first ?? error.message)
        }
    }
}
