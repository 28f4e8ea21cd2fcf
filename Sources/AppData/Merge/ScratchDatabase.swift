import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

/// A database for the lookups of one import: keys and identities, whose number grows with the records. It is on disk, with a bounded cache in memory.
/// Its content does not outlive the import.
final class ScratchDatabase {
    private static let cacheSizeKiB = 32 << 10

    let connection: OpaquePointer?
    let path: String

    /// - Parameter path: of a file that does not exist yet; empty for an unnamed one at SQLite's own place.
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
        // Always discarded: neither journal nor sync. One transaction until the end, so that no page is written early.
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

    /// Number of rows that the last statement changed.
    var changedRowCount: Int { Int(sqlite3_changes(connection)) }

    /// The first column of the first row; 0 when there is none.
    func number(_ sql: String) throws(BackupError) -> Int {
        let statement = try statement(sql)
        return try statement.step() ? Int(statement.integer(0)) : 0
    }
}
