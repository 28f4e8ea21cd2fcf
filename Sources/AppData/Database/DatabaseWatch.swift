import BackupCore
import GRDBSQLite

/// Detects commits of the app since a moment, through its own connection. For the time between a safety backup and the
/// transaction that replaces the data it has saved.
///
/// The connection is not read-only: the last one to close a database with a write-ahead log cleans the log up, which needs write
/// access.
public final class DatabaseWatch {
    /// `SQLITE_IOERR_SHORT_READ`, an expression in C.
    private static let shortRead = SQLITE_IOERR | 2 << 8

    private let path: String
    private var connection: OpaquePointer?
    private let hasLog: Bool
    private var version: Int64 = 0

    /// Starts the watch.
    /// - Throws: `notFound`; `databaseInUse` while the app holds a lock on its database.
    public init(_ database: AppDatabase) throws(BackupError) {
        path = database.path
        try AppDatabase.requireFile(path)
        try OrphanedLog.requireNone(ofDatabase: path)
        try SuperJournal.requireOwn(ofDatabase: path)
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &connection, flags, nil) == SQLITE_OK else {
            let failure = DatabaseFailure.last(connection, path: path)
            sqlite3_close_v2(connection)
            throw failure
        }
        sqlite3_busy_timeout(connection, Int32(database.busyTimeoutSeconds * 1_000))
        do {
            let mode = try DatabaseStatement(connection, "PRAGMA journal_mode", path: path)
            hasLog = try mode.step() && mode.text(0) == "wal"
            // The first read rolls back what a crash of the app has left, and opens the file.
            let first = try DatabaseStatement(connection, "SELECT count(*) FROM sqlite_master", path: path)
            _ = try first.step()
            version = try currentVersion()
        } catch {
            sqlite3_close_v2(connection)
            throw error
        }
    }

    deinit { close() }

    /// Whether there was a commit since the watch began. May be called while another connection of this process holds the write
    /// lock: then no other commit is possible.
    public func hasChanged() throws(BackupError) -> Bool { try currentVersion() != version }

    /// Ends the watch. Call it before the end of the transaction that it guards, so that the writer is the last to close the
    /// database.
    public func close() {
        sqlite3_close_v2(connection)
        connection = nil
    }

    private func currentVersion() throws(BackupError) -> Int64 {
        guard hasLog else { return try changeCounter() }
        let statement = try DatabaseStatement(connection, "PRAGMA data_version", path: path)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// The file's change counter (SQLite's file format, section 1.3.7), which each commit with a rollback journal increments.
    /// Read through the connection's file and without a lock: a program that copies over the database holds it exclusively, and
    /// closing another descriptor in this process would drop all its locks.
    private func changeCounter() throws(BackupError) -> Int64 {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
            let read = file.pointee.pMethods?.pointee.xRead
        else { throw DatabaseFailure.last(connection, path: path) }
        var bytes = [UInt8](repeating: 0, count: 4)
        let result = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, 4, 24) }
        // An empty file is an empty database.
        guard result == SQLITE_OK || result == Self.shortRead else {
            throw DatabaseFailure.error(code: result, reason: String(cString: sqlite3_errstr(result)), path: path)
        }
        return bytes.reduce(0) { $0 << 8 | Int64($1) }
    }
}
