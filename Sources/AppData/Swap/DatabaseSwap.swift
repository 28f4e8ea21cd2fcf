import BackupCore
import GRDB
import GRDBSQLite
import Glibc
import SystemIO

extension AppDatabase {
    /// Replaces the whole database with another one, tables and all, in one transaction (SQLite's backup interface): afterwards
    /// it is exactly that one, or, after any error, unchanged. The app's open connections continue, and see the new tables.
    ///
    /// - Parameters:
    ///   - source: a checked file.
    ///   - stagingPath: where to create a copy; removed afterwards.
    ///   - marker: as for `replaceAll`.
    ///   - beforeLocking: called when everything is ready, unless `withoutOthers` is.
    ///   - withoutOthers: runs code that needs exclusive access to the database. Only for a database with a write-ahead log and
    ///     another page size;
    ///     other programs can read and write afterwards.
    ///   - whenLocked: called when no other program can read or write, before the first page is copied.
    /// - Throws: `databaseInUse` when the app keeps its database locked; `invalidContent` when the file belongs to another
    ///   application. Only an error at the fault point `restore.committed` comes after the commit.
    public func replaceWhole(
        by source: DroppedDatabase, stagingPath: String, marker: RestoreMarker?,
        beforeLocking: () throws(BackupError) -> Void = { () throws(BackupError) in },
        withoutOthers: (() throws(BackupError) -> Void) throws(BackupError) -> Void = { (body) throws(BackupError) in try body()
        },
        whenLocked: () throws(BackupError) -> Void = { () throws(BackupError) in }
    ) throws(BackupError) {
        let exchange = DatabaseSwap(path: path, busyTimeoutSeconds: busyTimeoutSeconds)
        try exchange.stage(source, at: stagingPath, marker: marker)
        defer { _ = unlink(stagingPath) }
        try FaultInjection.reached("restore.transaction-begun")
        try exchange.publish(stagingPath, beforeLocking, withoutOthers, whenLocked)
        try FaultInjection.reached("restore.committed")
    }
}

/// The steps of an exchange.
struct DatabaseSwap {
    let path: String
    let busyTimeoutSeconds: Double

    /// Copies the database and writes the marker into the copy, so that one commit brings both.
    func stage(_ source: DroppedDatabase, at stagingPath: String, marker: RestoreMarker?) throws(BackupError) {
        try source.withConnection { (connection) throws(BackupError) in
            try DatabaseCopy.copy(from: connection, path: source.path, to: stagingPath)
        }
        try withConnection(stagingPath, flags: SQLITE_OPEN_READWRITE) { (connection) throws(BackupError) in
            DatabaseTriggers.disable(connection)
            // The copy is discarded if anything fails.
            try execute(connection, "PRAGMA synchronous = OFF", stagingPath)
            try marker?.leave(connection, path: stagingPath)
        }
    }

    /// Copies all pages over the app's database.
    func publish(
        _ stagingPath: String, _ beforeLocking: () throws(BackupError) -> Void,
        _ withoutOthers: (() throws(BackupError) -> Void) throws(BackupError) -> Void,
        _ whenLocked: () throws(BackupError) -> Void
    ) throws(BackupError) {
        try AppDatabase.prepareForWriting(path)
        try withConnection(stagingPath, flags: SQLITE_OPEN_READONLY) { (source) throws(BackupError) in
            try withConnection(path, flags: SQLITE_OPEN_READWRITE) { (target) throws(BackupError) in
                sqlite3_busy_timeout(target, Int32(busyTimeoutSeconds * 1_000))
                let hasLog = try hasLogAndOtherPages(source, target)
                do throws(BackupError) {
                    if hasLog {
                        try withoutOthers { () throws(BackupError) in try execute(target, "PRAGMA journal_mode = DELETE", path) }
                    } else {
                        try beforeLocking()
                    }
                    try DatabaseCopy.copyPages(
                        from: source, path: path, to: target, targetPath: path, busyTimeoutSeconds: busyTimeoutSeconds,
                        locksFirst: true, whenLocked: whenLocked)
                } catch {
                    // Gives the database its log back, as the app had it.
                    if hasLog { try? execute(target, "PRAGMA journal_mode = WAL", path) }
                    throw error
                }
                if hasLog { try execute(target, "PRAGMA journal_mode = WAL", path) }
            }
        }
    }

    /// A database with a write-ahead log cannot change its page size.
    private func hasLogAndOtherPages(_ source: OpaquePointer?, _ target: OpaquePointer?) throws(BackupError) -> Bool {
        guard try text(target, "PRAGMA journal_mode", path) == "wal" else { return false }
        return try text(source, "PRAGMA page_size", path) != text(target, "PRAGMA page_size", path)
    }

    private func withConnection(
        _ path: String, flags: Int32, _ body: (OpaquePointer?) throws(BackupError) -> Void
    ) throws(BackupError) {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        guard sqlite3_open_v2(path, &connection, flags | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
        guard sqlite3_exec(connection, "PRAGMA trusted_schema = OFF", nil, nil, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
        try body(connection)
    }

    private func execute(_ connection: OpaquePointer?, _ sql: String, _ path: String) throws(BackupError) {
        guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
    }

    private func text(_ connection: OpaquePointer?, _ sql: String, _ path: String) throws(BackupError) -> String {
        let statement = try DatabaseStatement(connection, sql, path: path)
        return try statement.step() ? statement.text(0) : ""
    }
}
