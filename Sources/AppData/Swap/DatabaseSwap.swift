import BackupCore
import Glibc
import SQLite
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
            try DatabaseCopy.copy(from: connection, to: stagingPath)
        }
        let connection = try open(stagingPath, .readWrite)
        defer { connection.close() }
        connection.disableTriggers()
        // The copy is discarded if anything fails.
        try connection.execute("PRAGMA synchronous = OFF")
        try marker?.leave(connection)
    }

    /// Copies all pages over the app's database.
    func publish(
        _ stagingPath: String, _ beforeLocking: () throws(BackupError) -> Void,
        _ withoutOthers: (() throws(BackupError) -> Void) throws(BackupError) -> Void,
        _ whenLocked: () throws(BackupError) -> Void
    ) throws(BackupError) {
        try AppDatabase.prepareForWriting(path)
        let source = try open(stagingPath, .readOnly)
        defer { source.close() }
        let target = try open(path, .readWrite, busyTimeoutSeconds: busyTimeoutSeconds)
        defer { target.close() }
        let hasLog = try hasLogAndOtherPages(source, target)
        do throws(BackupError) {
            if hasLog {
                try withoutOthers { () throws(BackupError) in try target.execute("PRAGMA journal_mode = DELETE") }
            } else {
                try beforeLocking()
            }
            try DatabaseCopy.copyPages(
                from: source, to: target, path: path, busyTimeoutSeconds: busyTimeoutSeconds, locksFirst: true,
                whenLocked: whenLocked)
        } catch {
            // Gives the database its log back, as the app had it.
            if hasLog { try? target.execute("PRAGMA journal_mode = WAL") }
            throw error
        }
        if hasLog { try target.execute("PRAGMA journal_mode = WAL") }
    }

    /// A database with a write-ahead log cannot change its page size.
    private func hasLogAndOtherPages(
        _ source: DatabaseConnection, _ target: DatabaseConnection
    ) throws(BackupError) -> Bool {
        guard try target.text("PRAGMA journal_mode") == "wal" else { return false }
        return try source.integer("PRAGMA page_size") != target.integer("PRAGMA page_size")
    }

    private func open(
        _ path: String, _ access: DatabaseConnection.Access, busyTimeoutSeconds: Double = 0
    ) throws(BackupError) -> DatabaseConnection {
        let connection = try DatabaseConnection(path, access, .app, busyTimeoutSeconds: busyTimeoutSeconds)
        try connection.execute("PRAGMA trusted_schema = OFF")
        return connection
    }
}
