import BackupCore
import GRDB
import GRDBSQLite

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
