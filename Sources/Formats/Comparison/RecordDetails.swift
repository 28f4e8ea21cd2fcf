import BackupCore
import SystemIO

/// A member of a record: its name, and its value as JSON text.
public struct RecordField: Sendable, Equatable {
    /// Longer values are shortened; they can still be compared for equality.
    public static let valueLimitBytes = 4096
    /// The shown length of a long text.
    private static let shortenedScalarCount = 1000

    /// The member's name in the record.
    public let name: String
    /// Valid JSON on one line. For a long text its beginning with "…" at the end, for a long list or object `null`.
    public let value: [UInt8]
    /// Whether `value` is only the beginning.
    public let isShortened: Bool
    /// Of the whole value, if it was shortened.
    private let digest: SHA256Digest?

    init(name: String, value: [UInt8]) {
        self.name = name
        guard value.count > Self.valueLimitBytes else {
            self.value = value
            isShortened = false
            digest = nil
            return
        }
        isShortened = true
        digest = SHA256Hasher.hash(value)
        let tokenizer = JSONTokenizer(BytesSource(value), bufferSizeBytes: 4_096)
        guard (try? tokenizer.next()) == .string else {
            self.value = Array("null".utf8)
            return
        }
        // Cuts the text, not its JSON form: half an escape would not be JSON.
        let text = tokenizer.text().unicodeScalars.prefix(Self.shortenedScalarCount)
        self.value = OrderedJSON.text(String(String.UnicodeScalarView(text)) + "…").compactText
    }

    func hasValue(of other: RecordField) -> Bool { value == other.value && digest == other.digest }
}

/// A member that differs between two versions of a record.
public struct FieldChange: Sendable, Equatable {
    /// The member's name in both records.
    public let name: String
    /// `nil` when the member did not exist
    public let old: RecordField?
    /// `nil` when the member no longer exists.
    public let new: RecordField?

    /// `amount: 12.5 → 13.0`, with long values shortened.
    public var text: Message { "\(MessageText.shortened(name)): \(Self.text(old)) → \(Self.text(new))" }

    private static let shownCount = 80

    private static func text(_ field: RecordField?) -> Message {
        guard let field else { return "nothing" }
        let text = String(decoding: field.value, as: UTF8.self)
        return .verbatim(text.count <= shownCount ? text : text.prefix(shownCount) + "…")
    }
}

/// The members of individual records of a collection, found by key.
public struct RecordDetails: Sendable {
    private let records: [JSONKey: [RecordField]]

    /// Reads a collection until all keys are found. The requested records bound the memory.
    /// - Parameters:
    ///   - source: an array of objects (`data/COLLECTION.json`); `nil` for a missing one.
    ///   - key: the member that identifies a record.
    ///   - ignoredFields: members that are left out.
    /// - Throws: `damagedContent` when it is not such an array.
    public init(
        of keys: Set<JSONKey>, in source: (any ByteSource)?, key: String, ignoredFields: Set<String> = []
    ) throws(BackupError) {
        var records: [JSONKey: [RecordField]] = [:]
        if let source, !keys.isEmpty {
            let cursor = RecordCursor(source, key: key, ignoredFields: ignoredFields)
            while records.count < keys.count, try cursor.advance() {
                guard let found = cursor.key, keys.contains(found) else { continue }
                records[found] = RecordText.fields(cursor.content)
            }
        }
        self.records = records
    }

    /// The differences between two versions of a record: members in the order of the newer one, then those that only the older
    /// one has.
    public static func changes(_ key: JSONKey, from old: RecordDetails, to new: RecordDetails) -> [FieldChange] {
        changes(from: old.records[key] ?? [], to: new.records[key] ?? [])
    }

    /// The same for the contents of two records (`RecordSearch.Found`).
    public static func changes(from old: [UInt8], to new: [UInt8]) -> [FieldChange] {
        changes(from: RecordText.fields(old), to: RecordText.fields(new))
    }

    private static func changes(from before: [RecordField], to after: [RecordField]) -> [FieldChange] {
        var changes: [FieldChange] = []
        for field in after {
            let earlier = before.first { $0.name.utf8.elementsEqual(field.name.utf8) }
            if let earlier, earlier.hasValue(of: field) { continue }
            changes.append(FieldChange(name: field.name, old: earlier, new: field))
        }
        for field in before where !after.contains(where: { $0.name.utf8.elementsEqual(field.name.utf8) }) {
            changes.append(FieldChange(name: field.name, old: field, new: nil))
        }
        return changes
    }
}

/// Converts the tokens of a record from `RecordCursor` back into JSON text, member by member.
enum RecordText {
    /// The outermost object's members.
    /// - Parameter content: of a complete object, without its opening brace, as in the cursor.
    static func fields(_ content: [UInt8]) -> [RecordField] {
        var fields: [RecordField] = []
        var rest = content[...]
        while rest.popFirst() == RecordToken.key {
            let name = takeText(&rest)
            var value: [UInt8] = []
            appendValue(&rest, to: &value)
            fields.append(RecordField(name: String(decoding: name, as: UTF8.self), value: value))
        }
        return fields
    }

    private static func takeText(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let count = rest.prefix(4).withUnsafeBytes { $0.count == 4 ? Int($0.loadUnaligned(as: UInt32.self)) : 0 }
        let text = rest.dropFirst(4).prefix(count)
        rest = rest.dropFirst(4 + count)
        return text
    }

    private static func appendValue(_ rest: inout ArraySlice<UInt8>, to output: inout [UInt8]) {
        switch rest.popFirst() {
        case RecordToken.beginObject: appendMembers(&rest, to: &output)
        case RecordToken.beginArray: appendElements(&rest, to: &output)
        case RecordToken.true: output += "true".utf8
        case RecordToken.false: output += "false".utf8
        case RecordToken.string: output += OrderedJSON.text(String(decoding: takeText(&rest), as: UTF8.self)).compactText
        case RecordToken.number: output += takeText(&rest)
        default: output += "null".utf8
        }
    }

    private static func appendMembers(_ rest: inout ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "{"))
        var isFirst = true
        while rest.popFirst() == RecordToken.key {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output += OrderedJSON.text(String(decoding: takeText(&rest), as: UTF8.self)).compactText
            output.append(UInt8(ascii: ":"))
            appendValue(&rest, to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }

    private static func appendElements(_ rest: inout ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "["))
        var isFirst = true
        while let next = rest.first, next != RecordToken.endArray {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            appendValue(&rest, to: &output)
        }
        rest = rest.dropFirst()
        output.append(UInt8(ascii: "]"))
    }
}
