import BackupCore

/// Checks whether a value has its field's kind. Used by the validator, and again before each write to a database.
enum FieldConformance {
    /// - Returns: "cost must be a text with a decimal number, not a number"; `nil` when it fits. Null and missing are valid for a
    ///   nullable field and for one that is not required.
    static func problem(_ buffer: RecordBuffer, _ index: Int, _ field: FieldDefinition) -> Message? {
        let kind = buffer.kind(index)
        if field.type.holds(kind) { return nil }
        switch (field.type, kind) {
        case (_, .null): return field.mayBeNull ? nil : "\(field.name) must not be null"
        case (_, .missing): return field.mayBeMissing ? nil : "missing field \(field.name)"
        case (.integer, .number), (.integer, .real), (.epochMilliseconds, .number), (.epochMilliseconds, .real):
            return "\(field.name) must be a whole number from \(Int64.min) to \(Int64.max)"
        case (.double, .number): return "\(field.name) is a number out of range"
        case (_, let kind): return "\(field.name) must be \(name(of: field.type)), not \(name(of: kind))"
        }
    }

    private static func name(of type: FieldType) -> Message {
        switch type {
        case .integer: "a whole number"
        case .double: "a number"
        case .text: "a text"
        case .decimalText: "a text with a decimal number"
        case .boolean: "true or false"
        case .date: "a text with a date"
        case .epochMilliseconds: "a whole number of milliseconds"
        case .dates: "a list of ISO 8601 dates with a time zone"
        case .uuid: "a text with a UUID"
        case .any: "a value that SQLite can hold"
        }
    }

    static func name(of kind: RecordBuffer.Kind) -> Message {
        switch kind {
        case .missing: "missing"
        case .null: "null"
        case .integer, .real, .number: "a number"
        case .text: "a text"
        case .boolean: "true or false"
        case .blob: "a blob"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
