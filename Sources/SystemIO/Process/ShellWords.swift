/// The words of a command line, as a person would type them into a shell, and back. What a shell would take for something else is put into
/// apostrophes.
public enum ShellWords {
    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_".unicodeScalars)

    public static func text(of words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    private static func quoted(_ word: String) -> String {
        if !word.isEmpty, word.unicodeScalars.allSatisfy(plain.contains) { return word }
        // Within apostrophes there is no way to write one.
        var quoted = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }

    /// - Parameter text: as `text` writes it; nothing else of a shell's language is understood.
    /// - Returns: `nil` when an apostrophe has no counterpart.
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
