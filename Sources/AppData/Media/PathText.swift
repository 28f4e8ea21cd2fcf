import BackupCore

/// The name in an export for a file whose name is not UTF-8, which JSON cannot contain: each invalid byte becomes U+FFFD and its two hexadecimal digits, so
/// that two such names stay different. Older programs wrote U+FFFD alone.
public enum PathText {
    private static let longestScalarBytes = 4

    public static func text(of path: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(path)
        guard !isText(bytes[...]) else { return bytes }
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let length = (1...longestScalarBytes).first { index + $0 <= bytes.count && isText(bytes[index..<index + $0]) }
            if let length {
                text += bytes[index..<index + length]
            } else {
                text += Array("\u{FFFD}\(Hexadecimal.encode([bytes[index]]).uppercased())".utf8)
            }
            index += length ?? 1
        }
        return text
    }

    /// All names that exports use, or have used, for it.
    public static func texts(of path: [UInt8]) -> [[UInt8]] {
        isText(path[...]) ? [path] : [text(of: path), Array(String(decoding: path, as: UTF8.self).utf8)]
    }

    private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }
}
