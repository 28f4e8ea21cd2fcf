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
    /// Whatever SQLite holds, exactly: whole numbers, doubles, texts and null as JSON has them, `{"blob": BASE64}`, and `{"text": BASE64}` for a
    /// text that is not UTF-8, `{"real": "inf"}` for what JSON has no number for.
    case any
}
