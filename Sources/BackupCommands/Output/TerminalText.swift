import BackupCore
import SystemIO

/// Text for a terminal. File names, and texts from a database or another person's repository, may contain terminal control sequences: these are shown as octal
/// escapes, as in `ls -b`.
enum TerminalText {
    /// The marks that this program itself puts at the start of a line. No other escape sequence reaches a terminal through this.
    static let marks = ["\u{1B}[32m✓\u{1B}[0m ", "\u{1B}[31m✗\u{1B}[0m "]

    /// - Parameter keepsLines: for text with several lines and columns; a name has none.
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

    /// The same for a document of JSON or YAML, which has its own escapes: its meaning to programs is unchanged.
    static func harmless(document bytes: [UInt8]) -> [UInt8] {
        var result = String.UnicodeScalarView()
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar == "\n" || scalar == "\t" || MessageText.isHarmless(scalar) {
                result.append(scalar)
            } else {
                // No such character has more than four hexadecimal digits.
                let digits = String(scalar.value, radix: 16)
                result.append(contentsOf: "\\u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)".unicodeScalars)
            }
        }
        return Array(String(result).utf8)
    }
}
