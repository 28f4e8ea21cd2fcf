import BackupCore
import GRDBSQLite

/// A database of which nothing is known but where it lies.
public enum DatabaseFile {
    private static let busyTimeoutMilliseconds: Int32 = 5_000

    /// Copies it with what its log holds, as of one instant: a file of its own without a log. Whoever writes to it meanwhile is not held up.
    /// - Parameter destination: must not exist; after an error it does not.
    /// - Throws: `busy` when another program keeps it locked; `damagedContent` when it is no database.
    public static func copy(_ path: String, to destination: String) throws(BackupError) {
        do {
            try copy(path, to: destination, SQLITE_OPEN_READONLY)
        } catch let error where error.code == .readOnly || error.code == .accessDenied {
            // A journal left by a crash must be rolled back, or a log's index made, before anything can be read.
            try copy(path, to: destination, SQLITE_OPEN_READWRITE)
        }
    }

    private static func copy(_ path: String, to destination: String, _ flags: Int32) throws(BackupError) {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        guard sqlite3_open_v2(path, &connection, flags | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
        sqlite3_busy_timeout(connection, busyTimeoutMilliseconds)
        sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0)
        let begin = "PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0; BEGIN; SELECT count(*) FROM sqlite_master"
        guard sqlite3_exec(connection, begin, nil, nil, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
        try DatabaseCopy.copy(from: connection, path: path, to: destination)
        sqlite3_exec(connection, "COMMIT", nil, nil, nil)
    }
}
