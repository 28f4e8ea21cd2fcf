/// How a field's value is written on the wire and kept in the database.
public enum FieldType: String, Sendable, CaseIterable {
    /// A whole number from -2^63 to 2^63-1.
    case integer
    /// A finite IEEE 754 double; written as the shortest digits that read back as the same bits, always with `.0` or exponent.
    case double
    case text
    /// A decimal number inside a JSON string ("12.50"), kept to the letter: money.
    case decimalText
    case boolean
    /// ISO 8601 with a time zone; kept as UTC text.
    case date
    /// Milliseconds since 1970 in UTC, as a whole number.
    case epochMilliseconds
    /// A list of dates; kept as a JSON array in a text.
    case dates
    /// A text of 32 hexadecimal digits with hyphens (8-4-4-4-12), kept to the letter.
    case uuid
    /// Whatever SQLite holds, exactly: whole numbers, doubles, texts and null as JSON has them, `{"blob": BASE64}`, and `{"text": BASE64}` for a
    /// text that is not UTF-8, `{"real": "inf"}` for what JSON has no number for.
    case any

    /// Whether values of a kind can be of this type; null and missing are for the field to say.
    @inline(__always)
    public func holds(_ kind: RecordBuffer.Kind) -> Bool {
        switch kind {
        // A whole number that no double has stays one: SQLite keeps both in a column.
        case .integer: self == .integer || self == .epochMilliseconds || self == .any || self == .double
        case .real: self == .double || self == .any
        case .boolean: self == .boolean
        case .text:
            switch self {
            case .text, .decimalText, .date, .dates, .uuid, .any: true
            case .integer, .double, .boolean, .epochMilliseconds: false
            }
        case .blob: self == .any
        case .null, .missing, .number, .array, .object: false
        }
    }

    /// Whether a value is a moment.
    public var isTime: Bool { self == .date || self == .epochMilliseconds }
}
