/// Texts of files, made fit for fields.
public enum PhotoText {
    /// The bytes as UTF-8; as Latin-1 when they are not valid, which older programs wrote.
    public static func decoded(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// The bytes as UTF-16, the less significant byte first, up to a zero.
    static func decoded(utf16 bytes: [UInt8]) -> String {
        let units = stride(from: 0, to: bytes.count - bytes.count % 2, by: 2).lazy.map {
            UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
        }
        return String(decoding: units.prefix { $0 != 0 }, as: UTF16.self)
    }

    /// Without zero bytes, and without blanks and line ends around it.
    /// - Returns: `nil` for an empty text. A long one is cut at a character.
    static func field(_ text: String?, limitBytes: Int = PhotoLimits.textBytes) -> String? {
        guard let text else { return nil }
        let scalars = text.unicodeScalars.filter { $0 != "\0" }
        let isBlank: (Unicode.Scalar) -> Bool = { $0.properties.isWhitespace || $0.value < 0x20 }
        let start = scalars.drop(while: isBlank)
        let end = start.reversed().drop(while: isBlank).reversed()
        let result = String(String.UnicodeScalarView(end))
        return result.isEmpty ? nil : shortened(result, limitBytes: limitBytes)
    }

    /// The longest start of the text that has so few bytes.
    static func shortened(_ text: String, limitBytes: Int) -> String {
        guard text.utf8.count > limitBytes else { return text }
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            if count > limitBytes { break }
            result.append(scalar)
        }
        return String(result)
    }

    /// The text of an alternative in languages: `lang="x-default" Sunset`.
    static func withoutLanguage(_ text: String) -> String {
        guard text.hasPrefix("lang=\""), let end = text.dropFirst(6).firstIndex(of: "\"") else { return text }
        return String(text[text.index(after: end)...].drop { $0 == " " })
    }
}
