import BackupCore

/// The files that SQLite keeps beside a database, by their names. With the database they are one unit: beside another database, or another state of
/// theirs, a log or journal changes what is read.
public enum DatabaseLogs {
    /// What is appended to the database's name: of a write-ahead log and a rollback journal.
    public static let logSuffixes = ["-wal", "-journal"]
    /// The same, with the index of a log, which holds nothing of its own.
    public static let suffixes = logSuffixes + ["-shm"]
    /// The longest of them, in bytes.
    public static let longestSuffixBytes = 8

    /// The name of the database that a file of this name may belong to.
    public static func database(ofFile name: [UInt8]) -> [UInt8]? {
        for suffix in suffixes where name.count > suffix.utf8.count && name.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) {
            return Array(name.dropLast(suffix.utf8.count))
        }
        return nil
    }

    /// Whether a file of this name may be a log or journal.
    public static func isLog(_ name: [UInt8]) -> Bool {
        logSuffixes.contains { name.count > $0.utf8.count && name.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }

    /// What may lie beside a database of this name. Names that are too long for a file are left out.
    public static func names(of database: FileName) -> [FileName] {
        suffixes.map { FileName(bytes: database.bytes + Array($0.utf8)) }.filter { $0.bytes.count <= FileName.byteCountLimit }
    }

    /// The database that a file would be a log of; `nil` when its name is that of no log.
    public static func database(of name: FileName) -> FileName? { database(ofFile: name.bytes).map { FileName(bytes: $0) } }
}
