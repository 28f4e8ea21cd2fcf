import BackupCore
import GRDB
import GRDBSQLite

/// Adds chunks to the catalog, many in a row; calls SQLite directly for the reason that `ChunkQuery` does.
struct ChunkInsertion {
    private static let sql = "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    private let statement: Statement
    private let protection: RepositoryProtection

    /// - Parameter database: in a transaction for as long as this is used.
    init(_ database: Database, _ protection: RepositoryProtection) throws {
        statement = try database.cachedStatement(sql: Self.sql)
        self.protection = protection
    }

    /// - Parameter pack: the pack's number in the catalog.
    func run(_ chunk: StoredChunk, pack: Int64) throws {
        let chunk = protection.maskingChecksums(chunk)
        let handle = statement.sqliteStatement
        sqlite3_reset(handle)
        defer { sqlite3_reset(handle) }
        let id = DigestKey(chunk.id.digest).words
        var numbers = [
            id.0, id.1, id.2, id.3, pack, Int64(chunk.packOffset), Int64(chunk.storedLength), Int64(chunk.plainLength),
            Int64(chunk.codec.rawValue), Int64(chunk.plainCRC32), Int64(chunk.storedCRC32),
        ]
        sqlite3_clear_bindings(handle)
        if let base = chunk.base {
            let words = DigestKey(base.digest).words
            numbers += [words.0, words.1, words.2, words.3]
        }
        for (index, number) in numbers.enumerated() { sqlite3_bind_int64(handle, Int32(index + 1), number) }
        let result = sqlite3_step(handle)
        guard result == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
    }
}
