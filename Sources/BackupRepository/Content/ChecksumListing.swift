import BackupCore

/// Lines of a checksum listing in the format of GNU `sha256sum` and `md5sum`: digest, two spaces, path, newline. A backslash, a newline or a carriage return in
/// the path is written `\\`, `\n` or `\r`, and the line then starts with a backslash.
public enum ChecksumListing {
    static let separator: [UInt8] = [32, 32]

    /// One line, with its newline.
    /// - Parameter digest: in lower-case hexadecimal digits.
    public static func line(digest: String, path: [UInt8]) -> [UInt8] {
        var line: [UInt8] = []
        let escaped = escape(path)
        line.reserveCapacity(digest.utf8.count + escaped.count + 4)
        if escaped.count != path.count { line.append(UInt8(ascii: "\\")) }
        line.append(contentsOf: digest.utf8)
        line.append(contentsOf: separator)
        line.append(contentsOf: escaped)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    static func escapedByteCount(_ path: [UInt8]) -> Int { path.count + path.count { needsEscape($0) } }

    private static func escape(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: needsEscape) else { return path }
        var escaped: [UInt8] = []
        for byte in path {
            switch byte {
            case UInt8(ascii: "\\"): escaped += [UInt8(ascii: "\\"), UInt8(ascii: "\\")]
            case UInt8(ascii: "\n"): escaped += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case UInt8(ascii: "\r"): escaped += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
            default: escaped.append(byte)
            }
        }
        return escaped
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
