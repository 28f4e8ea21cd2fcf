/// The form of a field's value on the wire and in the database.
public enum FieldType: String, Sendable, CaseIterable {
    /// An integer from -2^63 to 2^63-1.
    case integer
    /// A finite IEEE 754 double; written as the shortest digits that read back as the same bits, always with `.0` or exponent.
    case double
    case text
    /// A decimal number inside a JSON string ("12.50"), stored verbatim: money.
    case decimalText
    case boolean
    /// ISO 8601 with a time zone; stored as UTC text.
    case date
    /// Milliseconds since 1970 in UTC, as an integer.
    case epochMilliseconds
    /// A list of dates; stored as a JSON array in a text.
    case dates
    /// A text of 32 hexadecimal digits with hyphens (8-4-4-4-12), stored verbatim.
    case uuid
    /// Any SQLite value, exactly: integers, doubles, texts and null as in JSON, `{"blob": BASE64}`, `{"text": BASE64}` for a text that is not UTF-8,
    /// and `{"real": "inf"}` for a number that JSON cannot express.
    case any

    /// Whether values of a kind can have this type; the field decides about null and missing.
    @inline(__always)
    public func holds(_ kind: RecordBuffer.Kind) -> Bool {
        switch kind {
        // An integer that no double equals stays one: SQLite stores both in a column.
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

    /// Whether a value is a point in time.
    public var isTime: Bool { self == .date || self == .epochMilliseconds }
}
