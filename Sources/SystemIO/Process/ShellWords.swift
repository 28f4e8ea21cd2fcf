/// Converts between the words of a command line and the text that a person would type into a shell. Words with special characters are put into single quotes.
public enum ShellWords {
    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_".unicodeScalars)

    public static func text(of words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    private static func quoted(_ word: String) -> String {
        if !word.isEmpty, word.unicodeScalars.allSatisfy(plain.contains) { return word }
        // There is no way to write a single quote within single quotes.
        var quoted = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }

    /// - Parameter text: in the form that `text` writes; the rest of the shell's language is not supported.
    /// - Returns: `nil` for an unterminated quote.
    public static func words(in text: String) -> [String]? {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var isQuoted = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "'":
                isQuoted.toggle()
                word = word ?? String.UnicodeScalarView()
            case " " where !isQuoted:
                if let word { words.append(String(word)) }
                word = nil
            case "\\" where !isQuoted:
                guard let escaped = rest.popFirst() else { return nil }
                word = (word ?? String.UnicodeScalarView()) + [escaped]
            default: word = (word ?? String.UnicodeScalarView()) + [scalar]
            }
        }
        guard !isQuoted else { return nil }
        if let word { words.append(String(word)) }
        return words
    }
}
