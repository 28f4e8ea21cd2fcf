import BackupCore

/// One value of a record. Two texts are equal only if their bytes are: é as one code point differs from é as two.
public enum FieldValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, stored as bytes: Swift considers texts equal that differ in normalisation.
    case text([UInt8])
    case boolean(Bool)
    case blob([UInt8])

    public static func text(_ text: String) -> FieldValue { .text(Array(text.utf8)) }

    /// The text, if it is one.
    public var string: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A key for messages.
    public var messageText: String {
        switch self {
        case .integer(let number): String(number)
        case .text(let bytes): MessageText.shortened(bytes)
        default: ""
        }
    }
}
