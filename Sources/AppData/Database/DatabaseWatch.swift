import BackupCore
import SQLite

/// Detects commits of the app since a moment, through its own connection. For the time between a safety backup and the
/// transaction that replaces the data it has saved.
///
/// The connection is not read-only: the last one to close a database with a write-ahead log cleans the log up, which needs write
/// access.
public final class DatabaseWatch {
    private let connection: DatabaseConnection
    private let hasLog: Bool
    private var version: Int64 = 0

    /// Starts the watch.
    /// - Throws: `notFound`; `databaseInUse` while the app holds a lock on its database.
    public init(_ database: AppDatabase) throws(BackupError) {
        let path = database.path
        try AppDatabase.requireFile(path)
        try OrphanedLog.requireNone(ofDatabase: path)
        try SuperJournal.requireOwn(ofDatabase: path)
        connection = try DatabaseConnection(path, .readWrite, .app, busyTimeoutSeconds: database.busyTimeoutSeconds)
        hasLog = try connection.text("PRAGMA journal_mode") == "wal"
        // The first read rolls back what a crash of the app has left, and opens the file.
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        version = try currentVersion()
    }

    /// Whether there was a commit since the watch began. May be called while another connection of this process holds the write
    /// lock: then no other commit is possible.
    public func hasChanged() throws(BackupError) -> Bool { try currentVersion() != version }

    /// Ends the watch. Call it before the end of the transaction that it guards, so that the writer is the last to close the
    /// database.
    public func close() { connection.close() }

    private func currentVersion() throws(BackupError) -> Int64 {
        hasLog ? try connection.integer("PRAGMA data_version") ?? 0 : try connection.changeCounter()
    }
}
