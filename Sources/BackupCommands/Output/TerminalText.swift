import BackupCore
import SystemIO

/// Text for a terminal. Names of files, texts of a database and of another person's repository may hold what a terminal takes for commands: those are
/// shown as `ls -b` shows them, by the octal numbers of their bytes.
enum TerminalText {
    /// What this program itself puts in front of a line. Nothing else that begins with an escape character goes to a terminal.
    static let marks = ["\u{1B}[32m✓\u{1B}[0m ", "\u{1B}[31m✗\u{1B}[0m "]

    /// - Parameter keepsLines: for text of several lines and columns; a name has none.
    static func harmless(_ text: String, keepsLines: Bool) -> String {
        let mark = marks.first { text.hasPrefix($0) } ?? ""
        var result = mark
        for scalar in text.unicodeScalars.dropFirst(mark.unicodeScalars.count) {
            let isLine = keepsLines && (scalar == "\n" || scalar == "\t")
            if isLine || MessageText.isHarmless(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                for byte in Array(String(scalar).utf8) {
                    let digits = String(byte, radix: 8)
                    result += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
                }
            }
        }
        return result
    }
}
