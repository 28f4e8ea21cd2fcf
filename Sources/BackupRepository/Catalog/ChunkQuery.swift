import BackupCore
import GRDB
import GRDBSQLite

/// Looks up many chunks. It calls SQLite directly: a backup makes a hundred thousand of
/// these lookups, and wrapping each of their numbers takes ten times as long as the lookup.
struct ChunkQuery {
    /// The columns that `chunk` reads.
    static let columns = """
        c."offset", c.stored_length, c.plain_length, c.codec, c.plain_crc32, c.stored_crc32,
        c.base0, c.base1, c.base2, c.base3, p.id0, p.id1, p.id2, p.id3
        """
    /// The number of these columns.
    static let columnCount: Int32 = 14
    private static let sql = """
        SELECT \(columns)
        FROM chunks c JOIN packs p ON p.number = c.pack WHERE c.id0 = ? AND c.id1 = ? AND c.id2 = ? AND c.id3 = ?
        """

    private let statement: Statement
    private let protection: RepositoryProtection

    /// - Parameter database: in use for as long as the query is.
    init(_ database: Database, _ protection: RepositoryProtection) throws {
        statement = try database.cachedStatement(sql: Self.sql)
        self.protection = protection
    }

    /// Calls `body` for each place where the chunk is stored.
    func run(_ id: ChunkID, _ body: (StoredChunk) throws -> Void) throws {
        try statement.forEachRow(of: DigestKey(id.digest)) { handle in try body(try Self.chunk(id, handle, protection)) }
    }

    static func chunk(
        _ id: ChunkID, _ handle: OpaquePointer, _ protection: RepositoryProtection
    ) throws -> StoredChunk {
        func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
        func digest(_ column: Int32) -> SHA256Digest { key(handle, at: column).digest }
        guard let codec = UInt8(exactly: number(3)).flatMap(ChunkCodec.init(rawValue:)) else {
            throw BackupError(.repositoryDamaged, "the catalog names a codec that does not exist")
        }
        guard let offset = UInt64(exactly: number(0)), let storedLength = UInt32(exactly: number(1)),
            let plainLength = UInt32(exactly: number(2)), let plainCRC32 = UInt32(exactly: number(4)),
            let storedCRC32 = UInt32(exactly: number(5)), plainLength <= ChunkLimits.plainLengthBytes,
            storedLength <= ChunkLimits.storedLengthBytes, offset < UInt64(Int64.max / 2)
        else { throw Self.impossibleNumber }
        let chunk = protection.maskingChecksums(
            StoredChunk(
                id: id, pack: PackID(digest(10)), packOffset: offset, storedLength: storedLength, plainLength: plainLength,
                codec: codec, plainCRC32: plainCRC32, storedCRC32: storedCRC32,
                base: codec == .deflateAgainstBase ? ChunkID(digest(6)) : nil))
        guard codec != .raw || (storedLength == plainLength && chunk.storedCRC32 == chunk.plainCRC32) else {
            throw Self.impossibleNumber
        }
        return chunk
    }

    private static let impossibleNumber = BackupError(.repositoryDamaged, "the catalog has an impossible number")

    static func key(_ handle: OpaquePointer, at column: Int32) -> DigestKey {
        func number(_ offset: Int32) -> Int64 { sqlite3_column_int64(handle, column + offset) }
        return DigestKey(words: (number(0), number(1), number(2), number(3)))
    }
}
