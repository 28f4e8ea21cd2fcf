import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

/// A database for what one import has to look up: keys and identities, as many as there are records. It lies on disk, and memory holds a
/// bounded part of it. Nothing in it outlives the import.
final class ScratchDatabase {
    private static let cacheSizeKiB = 32 << 10

    let connection: OpaquePointer?
    let path: String

    /// - Parameter path: of a file that is not there yet; empty for one without a name, where SQLite puts such files.
    init(at path: String) throws(BackupError) {
        self.path = path
        if !path.isEmpty { _ = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600) }
        var opened: OpaquePointer?
        guard sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK
        else {
            let failure = DatabaseFailure.last(opened, path: path)
            sqlite3_close_v2(opened)
            if !path.isEmpty { unlink(path) }
            throw failure
        }
        connection = opened
        // Thrown away whatever happens: neither journal nor sync. One transaction to the end, so that no page is written before its time.
        try execute("PRAGMA journal_mode = OFF")
        try execute("PRAGMA synchronous = OFF")
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try execute("PRAGMA temp_store = FILE")
        try execute("PRAGMA cache_size = -\(Self.cacheSizeKiB)")
        try execute("BEGIN")
    }

    deinit {
        sqlite3_close_v2(connection)
        if !path.isEmpty { unlink(path) }
    }

    func statement(_ sql: String) throws(BackupError) -> DatabaseStatement {
        try DatabaseStatement(connection, sql, path: path)
    }

    func execute(_ sql: String) throws(BackupError) {
        guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
    }

    /// Rows that the last statement changed.
    var changedRowCount: Int { Int(sqlite3_changes(connection)) }

    /// The first column of the first row; 0 when there is none.
    func number(_ sql: String) throws(BackupError) -> Int {
        let statement = try statement(sql)
        return try statement.step() ? Int(statement.integer(0)) : 0
    }
}
