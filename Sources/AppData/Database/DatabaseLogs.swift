import BackupCore

/// The names of the files that SQLite keeps beside a database. They form a unit with the database: beside another database, or another state of it, a log or
/// journal changes what is read.
public enum DatabaseLogs {
    /// The suffixes of a write-ahead log and a rollback journal, appended to the database's name.
    public static let logSuffixes = ["-wal", "-journal"]
    /// The same, with the index of a log, which has no data of its own.
    public static let suffixes = logSuffixes + ["-shm"]
    /// The length of the longest one in bytes.
    public static let longestSuffixBytes = 8

    /// The name of the database to which a file of this name may belong.
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

    /// The names of files that may be beside a database of this name. Omits names that are too long for a file.
    public static func names(of database: FileName) -> [FileName] {
        suffixes.map { FileName(bytes: database.bytes + Array($0.utf8)) }.filter { $0.bytes.count <= FileName.byteCountLimit }
    }

    /// The database whose log the file would be; `nil` when the name is not that of a log.
    public static func database(of name: FileName) -> FileName? { database(ofFile: name.bytes).map { FileName(bytes: $0) } }
}
