import BackupCore
import SQLite

/// The catalog's contents, for comparing it with the packs.
extension Catalog {
    /// For each pack, a sum over its rows (`CatalogRowSum`) and their number. Reads the whole table once, in order.
    /// - Throws: `repositoryDamaged` when SQLite reports damage or a row is invalid.
    func sums() throws(BackupError) -> [PackID: (sum: UInt64, rowCount: Int)] {
        try read { (database) throws(BackupError) in
            var sums: [PackID: (sum: UInt64, rowCount: Int)] = [:]
            let packs = try database.statement("SELECT id0, id1, id2, id3 FROM packs")
            while try packs.step() { sums[PackID(try DigestKey(packs, at: 0).digest)] = (0, 0) }
            let sql = """
                SELECT \(ChunkQuery.columns), c.id0, c.id1, c.id2, c.id3, p.number
                FROM chunks c LEFT JOIN packs p ON p.number = c.pack ORDER BY c.id0, c.id1, c.id2, c.id3, c.pack
                """
            var last: DigestKey?
            try Self.scan(database, sql) { (id, key, row) throws(BackupError) in
                // Lookups miss chunks in a table that is not in order.
                if let last, key.words < last.words {
                    throw BackupError(.repositoryDamaged, "the catalog's table is not in order")
                }
                last = key
                guard row.type(ChunkQuery.columnCount + 4) != .null else {
                    throw BackupError(.repositoryDamaged, "the catalog names a pack that it does not have")
                }
                let chunk = try ChunkQuery.chunk(id, row, protection)
                let before = sums[chunk.pack] ?? (0, 0)
                sums[chunk.pack] = (before.sum &+ CatalogRowSum.of(chunk), before.rowCount + 1)
            }
            return sums
        }
    }

    /// The packs whose catalog rows differ from their own indexes.
    /// - Throws: as `sums`.
    func differing(from inventory: PackInventory) throws(BackupError) -> [PackInventory.Pack] {
        func differing() throws(BackupError) -> [PackInventory.Pack] {
            let sums = try sums()
            return inventory.packs.filter { pack in
                guard let known = sums[pack.id] else { return true }
                return known.sum != pack.catalogSum || known.rowCount != pack.chunkCount
            }
        }
        let found = try differing()
        guard !found.isEmpty else { return [] }
        // A backup may have published packs since the catalog was last reconciled.
        try reconcile()
        return try differing()
    }

    /// What the catalog knows of a pack; `nil` when it does not know the pack.
    func chunks(of pack: PackID) throws(BackupError) -> (kind: PackKind, chunks: [StoredChunk])? {
        try read { (database) throws(BackupError) in
            let found = try database.statement("SELECT number, kind FROM packs WHERE \(DigestKey.condition)")
            found.bind(1, DigestKey(pack.digest))
            guard try found.step(), let kind = UInt8(exactly: try found.checkedInteger(1)).flatMap(PackKind.init(rawValue:))
            else { return nil }
            let number = try found.checkedInteger(0)
            let sql = """
                SELECT \(ChunkQuery.columns), c.id0, c.id1, c.id2, c.id3
                FROM chunks c JOIN packs p ON p.number = c.pack WHERE c.pack = \(number)
                """
            var chunks: [StoredChunk] = []
            try Self.scan(database, sql) { (id, _, row) throws(BackupError) in
                chunks.append(try ChunkQuery.chunk(id, row, protection))
            }
            return (kind, chunks)
        }
    }

    /// Steps through chunks.
    /// - Parameter sql: the columns of `ChunkQuery`, then those of the chunk's name.
    private static func scan(
        _ database: DatabaseConnection, _ sql: String,
        _ body: (ChunkID, DigestKey, DatabaseStatement) throws(BackupError) -> Void
    ) throws(BackupError) {
        let rows = try database.statement(sql)
        while try rows.step() {
            let key = ChunkQuery.key(rows, at: ChunkQuery.columnCount)
            try body(ChunkID(key.digest), key, rows)
        }
    }

    /// Discards the catalog and rebuilds it from the packs.
    func rebuild() throws(BackupError) {
        try replace()
        try reconcile()
    }
}

/// One number for everything that the catalog holds about a chunk in a pack. The numbers of all chunks of a pack are added, so
/// their order does not matter.
enum CatalogRowSum {
    static func of(_ chunk: StoredChunk) -> UInt64 {
        var sum: UInt64 = 0
        mix(chunk.id.digest, into: &sum)
        // An array of them would be allocated for each chunk.
        mix(chunk.packOffset, into: &sum)
        mix(UInt64(chunk.storedLength), into: &sum)
        mix(UInt64(chunk.plainLength), into: &sum)
        mix(UInt64(chunk.codec.rawValue), into: &sum)
        mix(UInt64(chunk.plainCRC32), into: &sum)
        mix(UInt64(chunk.storedCRC32), into: &sum)
        if let base = chunk.base { mix(base.digest, into: &sum) }
        return sum
    }

    private static func mix(_ digest: SHA256Digest, into sum: inout UInt64) {
        digest.withUnsafeBytes {
            for offset in stride(from: 0, to: 32, by: 8) {
                mix($0.loadUnaligned(fromByteOffset: offset, as: UInt64.self), into: &sum)
            }
        }
    }

    private static func mix(_ number: UInt64, into sum: inout UInt64) {
        sum = (sum ^ number) &* 0x9e37_79b9_7f4a_7c15
        sum ^= sum >> 29
    }
}
