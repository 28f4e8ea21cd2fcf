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

/// The catalog rows of some packs, in the order of its table: inserting a million chunks
/// in the order of their names costs a fraction of inserting them in random order.
struct CatalogRows {
    struct Pack {
        let id: PackID
        let kind: PackKind
        let byteCount: UInt64
        let chunkCount: Int
    }

    /// One chunk in one pack, in 72 bytes.
    fileprivate struct Row {
        let key: DigestKey
        /// Index into `packs`.
        let pack: Int32
        let base: Int32
        let offset: Int64
        let storedLength: UInt32
        let plainLength: UInt32
        let plainCRC32: UInt32
        let storedCRC32: UInt32
        let codec: UInt8

        static func precedes(_ left: Row, _ right: Row) -> Bool {
            left.key.words == right.key.words ? left.pack < right.pack : left.key.words < right.key.words
        }
    }

    private static let noBase: Int32 = -1
    /// The number of chunks to insert in one transaction: about 100 MB of rows.
    static let standardLimit = 1 << 20

    private(set) var packs: [Pack] = []
    fileprivate var rows: [Row] = []
    fileprivate var bases: [DigestKey] = []

    var chunkCount: Int { rows.count }

    mutating func append(
        _ pack: PackID, _ index: PackIndex, byteCount: UInt64, _ protection: RepositoryProtection
    ) {
        let number = Int32(packs.count)
        packs.append(Pack(id: pack, kind: index.kind, byteCount: byteCount, chunkCount: index.entries.count))
        for chunk in index.storedChunks(in: pack) {
            let masked = protection.maskingChecksums(chunk)
            var base = Self.noBase
            if let id = chunk.base {
                base = Int32(bases.count)
                bases.append(DigestKey(id.digest))
            }
            rows.append(
                Row(
                    key: DigestKey(chunk.id.digest), pack: number, base: base, offset: Int64(chunk.packOffset),
                    storedLength: chunk.storedLength, plainLength: chunk.plainLength, plainCRC32: masked.plainCRC32,
                    storedCRC32: masked.storedCRC32, codec: chunk.codec.rawValue))
        }
    }

    mutating func sort() { rows.sort(by: Row.precedes) }
}

/// Adds many chunks to the catalog; calls SQLite directly for the same reason as `ChunkQuery`.
struct ChunkInsertion {
    private static let sql = "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    private let statement: Statement

    /// - Parameter database: in a transaction for as long as this is used.
    init(_ database: Database) throws { statement = try database.cachedStatement(sql: Self.sql) }

    /// - Parameter numbers: the packs' numbers in the catalog; packs without one are skipped.
    func run(_ rows: CatalogRows, _ numbers: [Int64?]) throws {
        let handle = statement.sqliteStatement
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for row in rows.rows {
            guard let pack = numbers[Int(row.pack)] else { continue }
            sqlite3_reset(handle)
            func bind(_ position: Int32, _ number: Int64) { sqlite3_bind_int64(handle, position, number) }
            func bind(_ first: Int32, _ key: DigestKey) {
                bind(first, key.words.0)
                bind(first + 1, key.words.1)
                bind(first + 2, key.words.2)
                bind(first + 3, key.words.3)
            }
            bind(1, row.key)
            bind(5, pack)
            bind(6, row.offset)
            bind(7, Int64(row.storedLength))
            bind(8, Int64(row.plainLength))
            bind(9, Int64(row.codec))
            bind(10, Int64(row.plainCRC32))
            bind(11, Int64(row.storedCRC32))
            if row.base >= 0 {
                bind(12, rows.bases[Int(row.base)])
            } else {
                for position in Int32(12)...15 { sqlite3_bind_null(handle, position) }
            }
            let result = sqlite3_step(handle)
            guard result == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
        }
    }
}

/// A SHA-256 as the catalog stores it: four big-endian 64-bit integers, which SQLite stores and compares without allocating.
struct DigestKey {
    let words: (Int64, Int64, Int64, Int64)

    init(_ digest: SHA256Digest) {
        words = digest.withUnsafeBytes { bytes in
            func word(_ index: Int) -> Int64 { Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: Int64.self)) }
            return (word(0), word(1), word(2), word(3))
        }
    }

    init(words: (Int64, Int64, Int64, Int64)) { self.words = words }

    /// - Throws: `repositoryDamaged`.
    init(_ row: Row, at index: Int) throws {
        words = (
            try row.integer(index), try row.integer(index + 1), try row.integer(index + 2), try row.integer(index + 3)
        )
    }

    var digest: SHA256Digest {
        let bigEndian = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: bigEndian) { SHA256Digest(exactBytes: $0) }
    }

    var arguments: StatementArguments { [words.0, words.1, words.2, words.3] }
}

/// Typed access to a catalog row. Anyone with write access to the repository's folder may have put other types into the file, and
/// GRDB ends the process when a value does not have the requested type.
extension Row {
    /// - Throws: `repositoryDamaged` when the value is not an integer.
    func integer(_ index: Int) throws -> Int64 {
        guard let number = try integerIfPresent(index) else { throw Self.wrongType }
        return number
    }

    /// - Returns: `nil` for NULL.
    /// - Throws: `repositoryDamaged` for anything but an integer or NULL.
    func integerIfPresent(_ index: Int) throws -> Int64? {
        switch (self[index] as DatabaseValue).storage {
        case .null: nil
        case .int64(let number): number
        default: throw Self.wrongType
        }
    }

    /// - Returns: `nil` when the value is not text.
    func text(_ index: Int) -> String? {
        if case .string(let text) = (self[index] as DatabaseValue).storage { text } else { nil }
    }

    private static let wrongType = BackupError(.repositoryDamaged, "the catalog has a value of another type")
}

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
