import BackupCore

/// How SQLite is asked to open a file in a special way: `file:` URIs, in which every byte but the plainest stands in hexadecimal digits.
public enum SQLiteAddress {
    /// A file that does not change: SQLite takes no locks, reads no log, and writes nothing.
    public static func immutable(_ path: String) -> String { address(path) + "?immutable=1&mode=ro" }

    /// A file that another program may be writing to: SQLite takes part in its locks. The index of a log is read where it is there, and neither
    /// made nor changed.
    public static func readOnly(_ path: String) -> String { address(path) + "?mode=ro&readonly_shm=1" }

    private static func address(_ path: String) -> String {
        var text = "file:"
        for byte in FileSystem.absolutePath(path).utf8 {
            switch byte {
            case 47...57, 65...90, 97...122, 45, 46, 95: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + Hexadecimal.encode([byte])
            }
        }
        return text
    }
}
