import GRDB
import GRDBSQLite

extension Statement {
    /// Runs a query and calls `body` for each row, with SQLite's own calls for the same reason as `ChunkQuery`.
    /// - Parameter key: for the statement's first four parameters.
    /// - Throws: SQLite's errors; an error of `body`, which ends the query.
    func forEachRow(of key: DigestKey? = nil, _ body: (OpaquePointer) throws -> Void) throws {
        let handle = sqliteStatement
        sqlite3_reset(handle)
        defer { withExtendedLifetime(self) { _ = sqlite3_reset(handle) } }
        if let words = key?.words {
            sqlite3_bind_int64(handle, 1, words.0)
            sqlite3_bind_int64(handle, 2, words.1)
            sqlite3_bind_int64(handle, 3, words.2)
            sqlite3_bind_int64(handle, 4, words.3)
        }
        while true {
            let result = sqlite3_step(handle)
            if result == SQLITE_DONE { return }
            guard result == SQLITE_ROW else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
            try body(handle)
        }
    }
}
