import BackupCore
import CSQLite
import GRDB
import SystemIO

/// Empties the catalog's file where it lies, whatever is in it. Removing it would leave other processes with a file that nobody else sees, and part of
/// their connections with the next one; this way SQLite's own locks and its log tell everybody.
///
/// Source: `SQLITE_DBCONFIG_RESET_DATABASE`, https://www.sqlite.org/c3ref/c_dbconfig_defensive.html
enum CatalogReset {
    private static let busyTimeoutMilliseconds: Int32 = 1000

    /// - Throws: `busy` when the file's first page is damaged while others use it; what `CatalogDatabase.mapErrors` says. The file is as it was then.
    static func run(path: String) throws(BackupError) {
        try CatalogDatabase.mapErrors(path: path) {
            var connection: OpaquePointer?
            let opened = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
            // Also a connection that could not be opened must be closed.
            defer { sqlite3_close(connection) }
            guard opened == SQLITE_OK, let connection else { throw DatabaseError(resultCode: ResultCode(rawValue: opened)) }
            sqlite3_busy_timeout(connection, busyTimeoutMilliseconds)
            // Has SQLite read what it can of the file: it keeps its write-ahead log then. That it fails is expected.
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
