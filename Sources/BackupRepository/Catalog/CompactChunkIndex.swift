import BackupCore
import SQLite
import SystemIO

/// Every chunk of a repository by its number, compact enough to hold all of them in memory: about 29 bytes for each, so that
/// 100 GB of databases or 6 TB of photos take 200 MB. A chunk that is in several packs may have a row for each.
///
/// A chunk is identified by the first 16 bytes of its name here: finding two that share them would take 2^64 tries.
struct CompactChunkIndex {
    struct Key: Hashable {
        let high: UInt64
        let low: UInt64

        init(_ id: ChunkID) { self.init(id.digest) }

        init(_ digest: SHA256Digest) {
            let words = DigestKey(digest).words
            self.init(words.0, words.1)
        }

        /// - Parameters: as the catalog has them.
        init(_ first: Int64, _ second: Int64) { (high, low) = (UInt64(bitPattern: first), UInt64(bitPattern: second)) }
    }

    struct Row {
        static let damagedFlag: UInt64 = 1
        static let neededFlag: UInt64 = 2
        /// It is stored against a base.
        static let deltaFlag: UInt64 = 4
        /// Both lengths are below 2^28: `ChunkLimits`.
        private static let lengthBitCount: UInt64 = 28
        private static let codecBitCount: UInt64 = 5

        let key: Key
        /// From the lowest bit: flags, the codec, the stored length, the plain length.
        var bits: UInt64

        fileprivate init(_ key: Key, _ codec: ChunkCodec, plainLength: UInt32, storedLength: UInt32, isDelta: Bool) {
            self.key = key
            let lengths = UInt64(plainLength) << Self.lengthBitCount | UInt64(storedLength)
            bits = (lengths << Self.codecBitCount | UInt64(codec.rawValue)) << 3 | (isDelta ? Self.deltaFlag : 0)
        }

        var codec: ChunkCodec? { ChunkCodec(rawValue: UInt8(bits >> 3 & (1 << Self.codecBitCount - 1))) }
        var storedLength: UInt32 { UInt32(bits >> (3 + Self.codecBitCount) & (1 << Self.lengthBitCount - 1)) }
        var plainLength: UInt32 { UInt32(bits >> (3 + Self.codecBitCount + Self.lengthBitCount)) }
    }

    private(set) var rows: [Row] = []
    /// The bases of the rows that have one, in row order.
    private var bases: [(row: UInt32, key: Key)] = []
    /// A hash table with the first row of each chunk, stored as its number plus one; 0 is a free slot. At most four fifths are
    /// used.
    private var slots: [UInt32]
    private var chunkCount = 0
    /// The further rows of chunks that have several.
    private var duplicates: [UInt32: [UInt32]] = [:]

    /// - Parameter capacity: the number of chunks to reserve memory for.
    init(capacity: Int) {
        slots = [UInt32](repeating: 0, count: max(1024, capacity / 4 * 5 + 5))
        rows.reserveCapacity(capacity)
    }

    mutating func append(_ entry: PackEntry) {
        append(
            Key(entry.id), entry.codec, plainLength: entry.plainLength, storedLength: entry.storedLength,
            base: entry.base.map { Key($0) })
    }

    fileprivate mutating func append(_ key: Key, _ codec: ChunkCodec, plainLength: UInt32, storedLength: UInt32, base: Key?) {
        let row = UInt32(rows.count)
        rows.append(Row(key, codec, plainLength: plainLength, storedLength: storedLength, isDelta: base != nil))
        if let base { bases.append((row, base)) }
        if chunkCount >= slots.count / 5 * 4 { grow() }
        let slot = slot(of: key)
        if slots[slot] == 0 {
            slots[slot] = row + 1
            chunkCount += 1
        } else {
            duplicates[slots[slot] - 1, default: []].append(row)
        }
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt32](repeating: 0, count: old.count * 2)
        for number in old where number != 0 { slots[slot(of: rows[Int(number) - 1].key)] = number }
    }

    /// The slot of the key, or the free slot where it belongs.
    private func slot(of key: Key) -> Int {
        // A digest is evenly distributed already; the first multiplication protects against names crafted to collide. The second
        // scales the product to the table's size, which need not be a power of two.
        var position = Int((key.high &* 0x9e37_79b9_7f4a_7c15).multipliedFullWidth(by: UInt64(slots.count)).high)
        while slots[position] != 0, rows[Int(slots[position]) - 1].key != key {
            position += 1
            if position == slots.count { position = 0 }
        }
        return position
    }

    /// The first row of a chunk.
    func firstRow(of key: Key) -> Int? {
        let number = slots[slot(of: key)]
        return number == 0 ? nil : Int(number) - 1
    }

    /// All rows of a chunk; empty when no pack has it.
    func allRows(of key: Key) -> [Int] {
        guard let first = firstRow(of: key) else { return [] }
        return [first] + (duplicates[UInt32(first)] ?? []).map { Int($0) }
    }

    /// The first row of each chunk that has several.
    var duplicated: [Int] { duplicates.keys.map { Int($0) } }

    func hasDuplicates(_ firstRow: Int) -> Bool { !duplicates.isEmpty && duplicates[UInt32(firstRow)] != nil }

    /// The base needed to expand the row's bytes; `nil` for a chunk that is stored whole.
    func base(ofRow row: Int) -> Key? {
        guard rows[row].bits & Row.deltaFlag != 0 else { return nil }
        let place = bases.partitioningIndex { $0.row >= row }
        return bases[place].key
    }

    func isDamaged(_ row: Int) -> Bool { rows[row].bits & Row.damagedFlag != 0 }
    mutating func setDamaged(_ row: Int) { rows[row].bits |= Row.damagedFlag }

    func isNeeded(_ row: Int) -> Bool { rows[row].bits & Row.neededFlag != 0 }
    mutating func setNeeded(_ row: Int, _ isNeeded: Bool = true) {
        if isNeeded { rows[row].bits |= Row.neededFlag } else { rows[row].bits &= ~Row.neededFlag }
    }

    /// Marks all rows of a chunk as needed, with all bases that they depend on. The bases of rows marked before are marked
    /// already.
    mutating func need(_ chunk: Key) {
        var waiting = [chunk]
        while let key = waiting.popLast() {
            for row in allRows(of: key) where !isNeeded(row) {
                setNeeded(row)
                if let base = base(ofRow: row) { waiting.append(base) }
            }
        }
    }

    /// Whether the row can provide the chunk's bytes: it is whole itself, and so is its base if it has one.
    func isUsable(_ row: Int) -> Bool {
        guard !isDamaged(row) else { return false }
        guard let base = base(ofRow: row) else { return true }
        return allRows(of: base).contains { !isDamaged($0) && self.base(ofRow: $0) == nil }
    }

    /// Whether any row can provide the chunk's bytes.
    func hasUsable(_ key: Key) -> Bool { allRows(of: key).contains { isUsable($0) } }
}

extension Catalog {
    /// Every chunk once, even if it is in several packs while they are being rewritten.
    /// - Throws: errors of the catalog; `tooLarge` beyond four billion chunks.
    func chunkIndex() throws(BackupError) -> CompactChunkIndex {
        var index = CompactChunkIndex(capacity: 0)
        try read { (database) throws(BackupError) in
            index = CompactChunkIndex(capacity: Int(clamping: try database.integer("SELECT count(*) FROM chunks") ?? 0))
            let sql = "SELECT id0, id1, plain_length, stored_length, codec, base0, base1 FROM chunks ORDER BY id0, id1, id2, id3"
            let row = try database.statement(sql)
            while try row.step() {
                let key = CompactChunkIndex.Key(try row.checkedInteger(0), try row.checkedInteger(1))
                if index.firstRow(of: key) != nil { continue }
                guard index.rows.count < Int(UInt32.max) - 2 else {
                    throw BackupError(.tooLarge, "the repository has more chunks than can be counted")
                }
                let (plainLength, storedLength) = (try row.checkedInteger(2), try row.checkedInteger(3))
                guard (0...Int64(ChunkLimits.plainLengthBytes)).contains(plainLength),
                    (0...Int64(ChunkLimits.storedLengthBytes)).contains(storedLength),
                    let codec = UInt8(exactly: try row.checkedInteger(4)).flatMap(ChunkCodec.init(rawValue:))
                else { throw BackupError(.repositoryDamaged, "the catalog has an impossible number") }
                var base: CompactChunkIndex.Key?
                if let first = try row.checkedIntegerIfPresent(5) {
                    base = CompactChunkIndex.Key(first, try row.checkedInteger(6))
                }
                index.append(
                    key, codec, plainLength: UInt32(plainLength), storedLength: UInt32(storedLength), base: base)
            }
        }
        return index
    }
}
