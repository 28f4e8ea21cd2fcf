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

    /// The same of a document of JSON or YAML, which has an escape of its own: it stays what it is to a program.
    static func harmless(document bytes: [UInt8]) -> [UInt8] {
        var result = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar == "\n" || scalar == "\t" || MessageText.isHarmless(scalar) {
                result.append(scalar)
            } else {
                // None of them has more than four digits.
                let digits = String(scalar.value, radix: 16)
                result.append(contentsOf: "\\u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)".unicodeScalars)
            }
        }
        return Array(String(result).utf8)
    }
}
