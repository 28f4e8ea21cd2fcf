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

    /// The texts of an alternative in languages, the default first: `lang="x-default" Sunset, lang="de" Abend, spät`.
    /// - Returns: the text itself when it is none.
    static func alternatives(_ text: String) -> [String] {
        let start = Array("lang=\"".utf8)
        let bytes = Array(text.utf8)
        guard bytes.starts(with: start) else { return [text] }
        var texts: [[UInt8]] = []
        var position = 0
        while position < bytes.count {
            // A comma is also in texts: only one before a language begins the next.
            if let end = languageEnd(bytes, position, start, isFirst: texts.isEmpty) {
                texts.append([])
                position = end
            } else if texts.isEmpty {
                return [text]
            } else {
                texts[texts.count - 1].append(bytes[position])
                position += 1
            }
        }
        return texts.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Where the text begins when a language is at a position: behind `, lang="de" `.
    private static func languageEnd(_ bytes: [UInt8], _ position: Int, _ start: [UInt8], isFirst: Bool) -> Int? {
        let before = isFirst ? start : Array(", ".utf8) + start
        guard bytes[position...].starts(with: before) else { return nil }
        let name = bytes[(position + before.count)...]
        // ASCII letters, digits and hyphens.
        let length = name.prefix(32).prefix { $0 == 0x2D || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
            .count
        let end = position + before.count + length
        guard length > 0, end + 1 < bytes.count, bytes[end] == UInt8(ascii: "\""), bytes[end + 1] == UInt8(ascii: " ") else {
            return nil
        }
        return end + 2
    }
}
