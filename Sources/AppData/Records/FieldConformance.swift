import BackupCore

/// Whether a value is of the kind its field has. Asked by the validator, and again by whatever writes to a database.
enum FieldConformance {
    /// - Returns: "cost must be a text with a decimal number, not a number"; `nil` when it fits. Null and missing are fine for a
    ///   nullable field and for one that is not required.
    static func problem(_ buffer: RecordBuffer, _ index: Int, _ field: FieldDefinition) -> String? {
        let kind = buffer.kind(index)
        switch (field.type, kind) {
        case (.integer, .integer), (.double, .real), (.text, .text), (.decimalText, .text), (.boolean, .boolean), (.date, .text):
            return nil
        case (.any, .integer), (.any, .real), (.any, .text), (.any, .blob): return nil
        case (_, .null):
            return field.isNullable || !field.isRequired ? nil : "\(field.name) must not be null"
        case (_, .missing):
            return field.isRequired && !field.isNullable ? "missing field \(field.name)" : nil
        case (.integer, .number), (.integer, .real):
            return "\(field.name) must be a whole number from \(Int64.min) to \(Int64.max)"
        case (.double, .number): return "\(field.name) is a number out of range"
        case (_, let kind): return "\(field.name) must be \(name(of: field.type)), not \(name(of: kind))"
        }
    }

    private static func name(of type: FieldType) -> String {
        switch type {
        case .integer: "a whole number"
        case .double: "a number"
        case .text: "a text"
        case .decimalText: "a text with a decimal number"
        case .boolean: "true or false"
        case .date: "a text with a date"
        case .any: "a value that SQLite can hold"
        }
    }

    static func name(of kind: RecordBuffer.Kind) -> String {
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
