import BackupCore
import CSQLite
import GRDB
import SystemIO

/// Empties the catalog's file in place, whatever is in it. After removing it instead, other processes would keep using an unlinked file, some of their
/// connections that file and others the next one. This way SQLite's own locks and its log inform every process.
///
/// Source: `SQLITE_DBCONFIG_RESET_DATABASE`, https://www.sqlite.org/c3ref/c_dbconfig_defensive.html
enum CatalogReset {
    private static let busyTimeoutMilliseconds: Int32 = 1000

    /// - Throws: `busy` when the file's first page is damaged while others use it; the errors of `CatalogDatabase.mapErrors`. The file is unchanged then.
    static func run(path: String) throws(BackupError) {
        try CatalogDatabase.mapErrors(path: path) {
            var connection: OpaquePointer?
            let opened = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
            // A connection must be closed even if opening it failed.
            defer { sqlite3_close(connection) }
            guard opened == SQLITE_OK, let connection else { throw DatabaseError(resultCode: ResultCode(rawValue: opened)) }
            sqlite3_busy_timeout(connection, busyTimeoutMilliseconds)
            // Makes SQLite read what it can of the file, so that it keeps its write-ahead log. A failure is expected.
            sqlite3_exec(connection, "PRAGMA user_version", nil, nil, nil)
            backupfs_set_resetting(connection, 1)
            let result = sqlite3_exec(connection, "VACUUM", nil, nil, nil)
            backupfs_set_resetting(connection, 0)
            guard result == SQLITE_OK else {
                throw DatabaseError(
                    resultCode: ResultCode(rawValue: result), message: String(cString: sqlite3_errmsg(connection)))
            }
        }
    }
}
