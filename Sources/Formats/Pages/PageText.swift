import BackupCore

/// Texts of files, fit for a page.
public enum PageText {
    /// More than a name has.
    private static let nameLimit = 255
    private static let pathLimit = 4_096
    private static let textLimit = 2_000

    /// A name: it may be no UTF-8, and has no line of its own.
    public static func name(_ bytes: [UInt8]) -> String { visible(MessageText.shortened(bytes, limit: nameLimit)) }

    /// A path; as for a name.
    public static func path(_ bytes: [UInt8]) -> String { visible(MessageText.shortened(bytes, limit: pathLimit)) }

    /// The same.
    public static func path(_ text: String) -> String { path(Array(text.utf8)) }

    /// A text on one line.
    public static func text(_ text: String) -> String {
        let line = text.unicodeScalars.map { $0 == "\n" || $0 == "\r" || $0 == "\t" ? " " : $0 }
        return visible(MessageText.shortened(String(String.UnicodeScalarView(line)), limit: textLimit))
    }

    /// Without code points that no text may have.
    private static func visible(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            (0xFDD0...0xFDEF).contains(scalar.value) || scalar.value & 0xFFFE == 0xFFFE ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
