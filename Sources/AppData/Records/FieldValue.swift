import BackupCore

/// One value of a record. Two texts are equal only if their bytes are: é in one code point is not é in two.
public enum FieldValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, kept as bytes: Swift would take texts that differ in normalisation for equal.
    case text([UInt8])
    case boolean(Bool)
    case blob([UInt8])

    public static func text(_ text: String) -> FieldValue { .text(Array(text.utf8)) }

    /// The text, when it is one.
    public var string: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A key, as it stands in messages.
    public var messageText: String {
        switch self {
        case .integer(let number): String(number)
        case .text(let bytes): MessageText.shortened(bytes)
        default: ""
        }
    }
}
