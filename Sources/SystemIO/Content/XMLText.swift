/// Text in XML 1.0.
public enum XMLText {
    /// For texts, and for values in double quotes. A carriage return becomes a reference: readers take a literal one for a line
    /// feed (XML 1.0, 2.11). Characters for which XML has no form become U+FFFD.
    public static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\r": result += "&#13;"
            default: result.unicodeScalars.append(isValid(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return result
    }

    /// The text of bytes, if XML can hold it.
    public static func valid(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return text.unicodeScalars.allSatisfy(isValid) ? text : nil
    }

    private static func isValid(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 9, 10, 13, 0x20...0xFFFD, 0x10000...: true
        default: false
        }
    }
}
