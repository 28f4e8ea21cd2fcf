import BackupCore

/// Special ways to open a file with SQLite: `file:` URIs, with every byte but the plainest percent-encoded.
public enum SQLiteAddress {
    /// A file that does not change: SQLite takes no locks, reads no log, and writes nothing.
    public static func immutable(_ path: String) -> String { address(path) + "?immutable=1&mode=ro" }

    /// A file that another program may be writing to: SQLite uses its locks. It reads a log's index if there is one, and neither creates nor changes it.
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
