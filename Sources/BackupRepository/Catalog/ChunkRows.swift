import BackupCore
import SQLite

/// Looks up many chunks: a backup makes a hundred thousand of these lookups.
struct ChunkQuery {
    private static let ownColumns = """
        c."offset", c.stored_length, c.plain_length, c.codec, c.plain_crc32, c.stored_crc32,
        c.base0, c.base1, c.base2, c.base3
        """
    /// The columns that `chunk` reads.
    static let columns = "\(ownColumns), p.id0, p.id1, p.id2, p.id3"
    /// The number of these columns.
    static let columnCount: Int32 = 14
    private static let sql = """
        SELECT \(columns)
        FROM chunks c JOIN packs p ON p.number = c.pack WHERE c.id0 = ? AND c.id1 = ? AND c.id2 = ? AND c.id3 = ?
        """
    /// For many lookups: SQLite compares a single integer faster than four, and packs are looked up once.
    private static let sqlForMany = "SELECT \(ownColumns), c.pack, c.id1, c.id2, c.id3 FROM chunks c WHERE c.id0 = ?"

    private let statement: DatabaseStatement
    private let protection: RepositoryProtection
    /// `nil` outside a transaction: another process may give a pack's number to another pack between two statements.
    private let packs: PackNumbers?

    /// - Parameter database: in use for as long as the query is.
    init(_ database: DatabaseConnection, _ protection: RepositoryProtection) throws(BackupError) {
        packs = database.isInTransaction ? try PackNumbers(database) : nil
        statement = try database.keptStatement(packs == nil ? Self.sql : Self.sqlForMany)
        self.protection = protection
    }

    /// Calls `body` for each place where the chunk is stored.
    func run(_ id: ChunkID, _ body: (StoredChunk) throws(BackupError) -> Void) throws(BackupError) {
        let key = DigestKey(id.digest)
        guard let packs else {
            statement.bind(1, key)
            return try statement.forEachRow { () throws(BackupError) in try body(try Self.chunk(id, statement, protection)) }
        }
        statement.bind(1, integer: key.words.0)
        try statement.forEachRow { () throws(BackupError) in
            let rest = (statement.integer(11), statement.integer(12), statement.integer(13))
            guard rest == (key.words.1, key.words.2, key.words.3), let pack = try packs.pack(statement.integer(10)) else {
                return
            }
            try body(try Self.chunk(id, in: pack, statement, protection))
        }
    }

    /// Looks chunks up in the order of the table, whatever their order is: each of its pages is then read once. Names are random,
    /// and a table of fifty thousand chunks does not fit into SQLite's cache.
    /// - Returns: what `body` returns for each of them, in their own order.
    static func inTableOrder(
        _ ids: [ChunkID], _ body: (ChunkID) throws(BackupError) -> StoredChunk?
    ) throws(BackupError) -> [StoredChunk?] {
        let keys = ids.map { DigestKey($0.digest).words.0 }
        var found = [StoredChunk?](repeating: nil, count: ids.count)
        for index in keys.indices.sorted(by: { keys[$0] < keys[$1] }) { found[index] = try body(ids[index]) }
        return found
    }

    /// Calls `body` with each chunk in each place, in the order of their names, as long as it returns true.
    /// - Parameter database: in a transaction.
    static func forEachChunk(
        _ database: DatabaseConnection, _ protection: RepositoryProtection, _ body: (DigestKey, StoredChunk) -> Bool
    ) throws(BackupError) {
        let packs = try PackNumbers(database)
        let rows = try database.statement(
            "SELECT \(ownColumns), c.pack, c.id0, c.id1, c.id2, c.id3 FROM chunks c ORDER BY c.id0, c.id1, c.id2, c.id3")
        while try rows.step() {
            guard let pack = try packs.pack(rows.integer(10)) else { continue }
            let key = key(rows, at: 11)
            guard body(key, try chunk(ChunkID(key.digest), in: pack, rows, protection)) else { return }
        }
    }

    static func chunk(
        _ id: ChunkID, _ row: DatabaseStatement, _ protection: RepositoryProtection
    ) throws(BackupError) -> StoredChunk {
        try chunk(id, in: PackID(key(row, at: 10).digest), row, protection)
    }

    private static func chunk(
        _ id: ChunkID, in pack: PackID, _ row: DatabaseStatement, _ protection: RepositoryProtection
    ) throws(BackupError) -> StoredChunk {
        func number(_ column: Int32) -> Int64 { row.integer(column) }
        func digest(_ column: Int32) -> SHA256Digest { key(row, at: column).digest }
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
                id: id, pack: pack, packOffset: offset, storedLength: storedLength, plainLength: plainLength,
                codec: codec, plainCRC32: plainCRC32, storedCRC32: storedCRC32,
                base: codec.needsBase ? ChunkID(digest(6)) : nil))
        guard codec != .raw || (storedLength == plainLength && chunk.storedCRC32 == chunk.plainCRC32) else {
            throw Self.impossibleNumber
        }
        return chunk
    }

    private static let impossibleNumber = BackupError(.repositoryDamaged, "the catalog has an impossible number")

    static func key(_ row: DatabaseStatement, at column: Int32) -> DigestKey {
        DigestKey(words: (row.integer(column), row.integer(column + 1), row.integer(column + 2), row.integer(column + 3)))
    }
}

/// The packs of some rows by their numbers, within one transaction.
private final class PackNumbers {
    private let statement: DatabaseStatement
    private var known: [Int64: PackID] = [:]

    init(_ database: DatabaseConnection) throws(BackupError) {
        statement = try database.keptStatement("SELECT id0, id1, id2, id3 FROM packs WHERE number = ?")
    }

    /// - Returns: `nil` for a number that the catalog does not have.
    func pack(_ number: Int64) throws(BackupError) -> PackID? {
        if let pack = known[number] { return pack }
        statement.bind(1, integer: number)
        var found: PackID?
        try statement.forEachRow { () throws(BackupError) in found = PackID(ChunkQuery.key(statement, at: 0).digest) }
        known[number] = found
        return found
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
    /// Whether a row has a codec that older programs do not know.
    private(set) var hasMiddles = false

    mutating func append(
        _ pack: PackID, _ index: PackIndex, byteCount: UInt64, _ protection: RepositoryProtection
    ) {
        let number = Int32(packs.count)
        packs.append(Pack(id: pack, kind: index.kind, byteCount: byteCount, chunkCount: index.entries.count))
        for chunk in index.storedChunks(in: pack) {
            let masked = protection.maskingChecksums(chunk)
            if chunk.codec == .middleAgainstBase { hasMiddles = true }
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

/// Adds many chunks to the catalog.
struct ChunkInsertion {
    private static let sql = "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    private let statement: DatabaseStatement

    /// - Parameter database: in a transaction for as long as this is used.
    init(_ database: DatabaseConnection) throws(BackupError) { statement = try database.keptStatement(Self.sql) }

    /// - Parameter numbers: the packs' numbers in the catalog; packs without one are skipped.
    func run(_ rows: CatalogRows, _ numbers: [Int64?]) throws(BackupError) {
        for row in rows.rows {
            guard let pack = numbers[Int(row.pack)] else { continue }
            statement.bind(1, row.key)
            statement.bind(5, integer: pack)
            statement.bind(6, integer: row.offset)
            statement.bind(7, integer: Int64(row.storedLength))
            statement.bind(8, integer: Int64(row.plainLength))
            statement.bind(9, integer: Int64(row.codec))
            statement.bind(10, integer: Int64(row.plainCRC32))
            statement.bind(11, integer: Int64(row.storedCRC32))
            if row.base >= 0 {
                statement.bind(12, rows.bases[Int(row.base)])
            } else {
                for position in Int32(12)...15 { statement.bindNull(position) }
            }
            try statement.run()
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

    /// A condition for a statement whose first four parameters are the key.
    static let condition = "id0 = ?1 AND id1 = ?2 AND id2 = ?3 AND id3 = ?4"

    /// - Throws: `repositoryDamaged`.
    init(_ row: DatabaseStatement, at index: Int32) throws(BackupError) {
        words = (
            try row.checkedInteger(index), try row.checkedInteger(index + 1), try row.checkedInteger(index + 2),
            try row.checkedInteger(index + 3)
        )
    }

    var digest: SHA256Digest {
        let bigEndian = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: bigEndian) { SHA256Digest(exactBytes: $0) }
    }
}

extension DatabaseStatement {
    /// Binds a key to four parameters.
    func bind(_ first: Int32, _ key: DigestKey) {
        bind(first, integer: key.words.0)
        bind(first + 1, integer: key.words.1)
        bind(first + 2, integer: key.words.2)
        bind(first + 3, integer: key.words.3)
    }

    /// A number of a catalog row. Anyone with write access to the repository's folder may have put other types into the file.
    /// - Throws: `repositoryDamaged` when the value is not an integer.
    func checkedInteger(_ column: Int32) throws(BackupError) -> Int64 {
        guard let number = try checkedIntegerIfPresent(column) else { throw Self.wrongType }
        return number
    }

    /// - Returns: `nil` for NULL.
    /// - Throws: `repositoryDamaged` for anything but an integer or NULL.
    func checkedIntegerIfPresent(_ column: Int32) throws(BackupError) -> Int64? {
        switch type(column) {
        case .null: nil
        case .integer: integer(column)
        default: throw Self.wrongType
        }
    }

    private static var wrongType: BackupError { BackupError(.repositoryDamaged, "the catalog has a value of another type") }
}
