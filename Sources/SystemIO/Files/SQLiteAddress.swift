import BackupCore

/// How SQLite is told of a file that must be opened in a special way.
public enum SQLiteAddress {
    /// A `file:` URI of a file that nobody changes: SQLite takes no locks, reads no log, and writes nothing. Every byte but the plainest stands in
    /// hexadecimal digits.
    public static func immutable(_ path: String) -> String {
        var text = "file:"
        for byte in FileSystem.absolutePath(path).utf8 {
            switch byte {
            case 47...57, 65...90, 97...122, 45, 46, 95: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + Hexadecimal.encode([byte])
            }
        }
        return text + "?immutable=1&mode=ro"
    }
}
