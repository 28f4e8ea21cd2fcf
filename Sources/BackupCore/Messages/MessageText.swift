/// Text from a file or a database in a message: of bounded length, valid UTF-8, and without what would move a terminal's cursor or turn its
/// writing round, since messages go to terminals and logs.
public enum MessageText {
    /// For keys and values.
    public static let valueLimit = 80
    /// For names and paths, which are told apart by their ends more often.
    public static let nameLimit = 200

    private static let longestScalarBytes = 4

    /// At most `limit` code points (a single character can have as many as it likes), and "…" when there were more.
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

    /// What is not UTF-8 comes out as U+FFFD.
    public static func shortened(_ bytes: some Collection<UInt8>, limit: Int = valueLimit) -> String {
        // One more than is shown: then it is known that there are more, and no character that is shown is cut.
        shortened(String(decoding: bytes.prefix((limit + 1) * longestScalarBytes), as: UTF8.self), limit: limit)
    }

    /// The first of several texts, each shortened, and "…" when there are more.
    public static func list(_ texts: [String], limit: Int) -> String {
        (texts.prefix(limit).map { shortened($0) } + (texts.count > limit ? ["…"] : [])).joined(separator: ", ")
    }

    /// A name or a path.
    public static func name(_ bytes: some Collection<UInt8>) -> String { shortened(bytes, limit: nameLimit) }

    /// Whether it neither moves a terminal's cursor nor turns its writing round.
    public static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Control characters, separators of lines, and what changes the direction of all that follows.
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
