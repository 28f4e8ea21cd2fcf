import BackupCore

/// What SQLite puts beside a database, under the database's name.
enum DatabaseLogs {
    static let suffixes = ["-wal", "-shm", "-journal"]

    static func names(of database: FileName) -> [FileName] {
        suffixes.map { FileName(bytes: database.bytes + Array($0.utf8)) }
    }

    /// The database that a file would be a log of; `nil` when its name is that of no log.
    static func database(of name: FileName) -> FileName? {
        let suffix = suffixes.first { suffix in
            name.bytes.count > suffix.utf8.count && name.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
        }
        return suffix.map { FileName(bytes: Array(name.bytes.dropLast($0.utf8.count))) }
    }
}
