import BackupCore

/// An answer that somebody typed, compared with what was to be typed.
enum TypedAnswer {
    /// Case does not count, also where the language has an i with and one without a dot. The English word is right in any language:
    /// whoever writes instructions for others knows that one.
    static func matches(_ answer: String?, _ words: [Message]) -> Bool {
        guard let answer = answer.map(folded) else { return false }
        return words.contains { folded($0.english) == answer || folded(Terminal.language.text($0)) == answer }
    }

    private static func folded(_ text: String) -> String {
        // Of İ the lower case is an i and a dot.
        String(String.UnicodeScalarView(text.lowercased().unicodeScalars.filter { $0 != "\u{307}" }.map { $0 == "ı" ? "i" : $0 }))
    }
}
