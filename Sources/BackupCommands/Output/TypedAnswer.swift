import BackupCore

/// Compares a typed answer with the expected ones.
enum TypedAnswer {
    /// Ignores case, also where the language has an i with and one without a dot. The English word is valid in any language: instructions written for other
    /// users contain it.
    static func matches(_ answer: String?, _ words: [Message]) -> Bool {
        guard let answer = answer.map(folded) else { return false }
        return words.contains { folded($0.english) == answer || folded(Terminal.language.text($0)) == answer }
    }

    private static func folded(_ text: String) -> String {
        // The lower case of İ is an i and a dot.
        String(String.UnicodeScalarView(text.lowercased().unicodeScalars.filter { $0 != "\u{307}" }.map { $0 == "ı" ? "i" : $0 }))
    }
}
