import BackupCore
import GRDB
import GRDBSQLite
import Glibc
import SystemIO

extension AppDatabase {
    /// Replaces the whole database by another one, tables and all, in one transaction (SQLite's backup interface): afterwards it is exactly that
    /// one, or, after any error, exactly what it was. Connections that the app has open go on, and see the new tables.
    ///
    /// - Parameters:
    ///   - source: a checked file.
    ///   - stagingPath: where a copy can be made; removed afterwards.
    ///   - marker: as for `replaceAll`.
    /// - Throws: `busy` when the app keeps its database locked; `invalidContent` when the file is another application's. Only an error at the
    ///   fault point `restore.committed` comes after the commit.
    public func replaceWhole(by source: DroppedDatabase, stagingPath: String, marker: String) throws(BackupError) {
        let exchange = DatabaseExchange(path: path, busyTimeoutSeconds: busyTimeoutSeconds)
        try exchange.stage(source.path, at: stagingPath, marker: marker)
        defer { _ = unlink(stagingPath) }
        try FaultInjection.reached("restore.transaction-begun")
        try exchange.publish(stagingPath)
        try FaultInjection.reached("restore.committed")
    }
}

/// The steps of an exchange.
struct DatabaseExchange {
    let path: String
    let busyTimeoutSeconds: Double

    /// Copies the file and leaves the marker in the copy, so that both come with one commit.
    func stage(_ source: String, at stagingPath: String, marker: String) throws(BackupError) {
        try copyFile(source, to: stagingPath)
        try withConnection(stagingPath, flags: SQLITE_OPEN_READWRITE) { (connection) throws(BackupError) in
            DatabaseTriggers.disable(connection)
            // The copy is thrown away if anything happens to it. Its own log would be left behind by a copy of the file alone.
            try execute(connection, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF", stagingPath)
            try execute(
                connection,
                """
                DROP TABLE IF EXISTS \(DatabaseReplacement.markerTable);
                CREATE TABLE \(DatabaseReplacement.markerTable) (id TEXT);
                INSERT INTO \(DatabaseReplacement.markerTable) (id) VALUES ('\(marker)')
                """, stagingPath)
        }
    }

    private func copyFile(_ source: String, to target: String) throws(BackupError) {
        let file = try SharedFile(path: source)
        let copy = try OwnedDescriptor.open(target, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        var offset: UInt64 = 0
        while offset < file.size {
            let bytes = try file.bytes(at: offset, upTo: 1 << 20)
            guard !bytes.isEmpty else { throw BackupError(.inputOutput, "the file became shorter", path: source) }
            var outcome: Result<Void, BackupError> = .success(())
            bytes.withUnsafeBytes { buffer in outcome = Result { () throws(BackupError) in try copy.writeAll(buffer) } }
            try outcome.get()
            offset += UInt64(bytes.count)
        }
    }

    /// Copies all pages over the app's database.
    func publish(_ stagingPath: String) throws(BackupError) {
        if !FileSystem.exists(path) {
            // Made here and not by SQLite, for its mode.
            _ = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        }
        try withConnection(stagingPath, flags: SQLITE_OPEN_READONLY) { (source) throws(BackupError) in
            try withConnection(path, flags: SQLITE_OPEN_READWRITE) { (target) throws(BackupError) in
                sqlite3_busy_timeout(target, Int32(busyTimeoutSeconds * 1_000))
                let hasLog = try leaveLogIfPagesDiffer(source, target)
                try copyPages(from: source, to: target)
                if hasLog { try execute(target, "PRAGMA journal_mode = WAL", path) }
            }
        }
    }

    /// The pages of a database with a write-ahead log cannot change their size.
    /// - Returns: whether it had one, and has none now.
    private func leaveLogIfPagesDiffer(_ source: OpaquePointer?, _ target: OpaquePointer?) throws(BackupError) -> Bool {
        guard try text(target, "PRAGMA journal_mode", path) == "wal",
            try text(source, "PRAGMA page_size", path) != text(target, "PRAGMA page_size", path)
        else { return false }
        try execute(target, "PRAGMA journal_mode = DELETE", path)
        return true
    }

    private func copyPages(from source: OpaquePointer?, to target: OpaquePointer?) throws(BackupError) {
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw DatabaseFailure.last(target, path: path)
        }
        var result = SQLITE_OK
        // The interface does not wait by itself for those who have the database locked.
        let end = SystemClock.monotonicNanoseconds() + UInt64(busyTimeoutSeconds * 1e9)
        repeat {
            result = sqlite3_backup_step(backup, -1)
            guard result == SQLITE_BUSY || result == SQLITE_LOCKED, SystemClock.monotonicNanoseconds() < end else { break }
            usleep(20_000)
        } while true
        // Whatever went wrong has been rolled back by then.
        let finished = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE else {
            throw DatabaseFailure.error(code: result, reason: String(cString: sqlite3_errstr(result)), path: path)
        }
        guard finished == SQLITE_OK else { throw DatabaseFailure.last(target, path: path) }
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
