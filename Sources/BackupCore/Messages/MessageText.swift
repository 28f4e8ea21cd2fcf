/// Text from a file or a database in a message: of bounded length, valid UTF-8, and without characters that move a terminal's cursor or change the
/// text direction, since messages go to terminals and logs.
public enum MessageText {
    /// For keys and values.
    public static let valueLimit = 80
    /// For names and paths, which more often differ only at the end.
    public static let nameLimit = 200

    private static let longestScalarBytes = 4

    /// At most `limit` code points (a single character can have any number of them), followed by "…" if the text was longer.
    public static func shortened(_ text: String, limit: Int = valueLimit) -> String {
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < limit else { return String(result) + "…" }
            result.append(isHarmless(scalar) ? scalar : "\u{FFFD}")
            count += 1
        }
        return String(result)
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    public static func shortened(_ bytes: some Collection<UInt8>, limit: Int = valueLimit) -> String {
        // One more than is shown: this detects longer texts, and does not split a character that is shown.
        shortened(String(decoding: bytes.prefix((limit + 1) * longestScalarBytes), as: UTF8.self), limit: limit)
    }

    /// The first texts of a list, each shortened, followed by "…" if there are more.
    public static func list(_ texts: [String], limit: Int) -> String {
        (texts.prefix(limit).map { shortened($0) } + (texts.count > limit ? ["…"] : [])).joined(separator: ", ")
    }

    /// A name or a path.
    public static func name(_ bytes: some Collection<UInt8>) -> String { shortened(bytes, limit: nameLimit) }

    /// Whether it neither moves a terminal's cursor nor changes the text direction.
    public static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Control characters, line separators, and characters that change the text direction.
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
