import BackupCore

/// A sentence about a record, with field names in braces: `Updated existing category: {displayName}`.
public struct NoteTemplate: Sendable, Equatable {
    enum Part: Sendable, Equatable {
        case text(String)
        /// Index of a field.
        case field(Int)
    }

    let parts: [Part]

    /// Why a template is invalid.
    enum Problem: Error, Equatable {
        /// An unbalanced brace.
        case brace
        /// A name that is not a field's.
        case unknownField(String)
    }

    init(_ text: String, fieldNames: [String]) throws(Problem) {
        var parts: [Part] = []
        var rest = text[...]
        while let opening = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[opening] == "{", let closing = rest[opening...].firstIndex(of: "}") else { throw .brace }
            if opening > rest.startIndex { parts.append(.text(String(rest[..<opening]))) }
            let name = String(rest[rest.index(after: opening)..<closing])
            guard let index = fieldNames.firstIndex(of: name) else { throw .unknownField(name) }
            parts.append(.field(index))
            rest = rest[rest.index(after: closing)...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    /// The sentence about one record. Values are shortened, since it goes to terminals and logs.
    func text(of record: RecordBuffer) -> Message {
        var message = Message.StringInterpolation(literalCapacity: 0, interpolationCount: parts.count)
        for part in parts {
            switch part {
            case .text(let text): message.appendLiteral(text)
            case .field(let index): message.appendInterpolation(MessageText.shortened(Self.text(record.value(index))))
            }
        }
        return Message(stringInterpolation: message)
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .null: ""
        case .integer(let number): String(number)
        case .real(let number): "\(number)"
        case .boolean(let flag): flag ? "true" : "false"
        case .text: value.string ?? ""
        case .blob(let bytes): "\(bytes.count) bytes"
        }
    }
}
