import BackupCore
import SQLite

/// Every chunk of the repository by number, with its lengths: 25 bytes each, so that millions of chunks can be counted.
///
/// A chunk is found by the first eight bytes of its name. Two chunks that share them (one pair is to be expected among six
/// billion) are counted as one, which is acceptable for statistics.
struct ChunkTable {
    /// The first eight bytes of the names, in the catalog's order.
    private var keys: [Int64] = []
    private(set) var plainLengths: [UInt32] = []
    private(set) var storedLengths: [UInt32] = []
    private(set) var codecs: [UInt8] = []
    /// For a chunk stored as a delta, the number of its base plus 1, else 0.
    private var bases: [UInt32] = []

    var count: Int { keys.count }

    /// - Throws: errors of the catalog; `tooLarge` beyond four billion chunks.
    init(_ catalog: Catalog) throws(BackupError) {
        var table = Self.Columns()
        try catalog.read { (database) throws(BackupError) in
            let sql = "SELECT id0, plain_length, stored_length, codec, base0 FROM chunks ORDER BY id0, id1, id2, id3"
            let rows = try database.statement(sql)
            while try rows.step() { try table.append(rows) }
        }
        keys = table.keys
        plainLengths = table.plainLengths
        let overhead = UInt32(RepositoryProtection.overheadByteCount(isSealed: catalog.protection.isSealing))
        storedLengths = overhead == 0 ? table.storedLengths : table.storedLengths.map { $0 + overhead }
        codecs = table.codecs
        bases = [UInt32](repeating: 0, count: table.bases.isEmpty ? 0 : keys.count)
        for (number, base) in table.bases {
            if let found = self.number(ofKey: base) { bases[number] = UInt32(found + 1) }
        }
    }

    private struct Columns {
        var keys: [Int64] = []
        var plainLengths: [UInt32] = []
        var storedLengths: [UInt32] = []
        var codecs: [UInt8] = []
        var bases: [(number: Int, key: Int64)] = []

        mutating func append(_ row: DatabaseStatement) throws(BackupError) {
            let key = try row.checkedInteger(0)
            // A chunk is in several packs while they are being rewritten.
            if keys.last == key { return }
            guard keys.count < Int(UInt32.max) - 2 else {
                throw BackupError(.tooLarge, "the repository has more chunks than can be counted")
            }
            let numbers = [try row.checkedInteger(1), try row.checkedInteger(2), try row.checkedInteger(3)]
            guard let plainLength = UInt32(exactly: numbers[0]), let storedLength = UInt32(exactly: numbers[1]),
                let codec = UInt8(exactly: numbers[2])
            else { throw BackupError(.repositoryDamaged, "the catalog has an impossible number") }
            keys.append(key)
            plainLengths.append(plainLength)
            storedLengths.append(storedLength)
            codecs.append(codec)
            if let base = try row.checkedIntegerIfPresent(4) { bases.append((keys.count - 1, base)) }
        }
    }

    func number(of id: ChunkID) -> Int? { number(ofKey: DigestKey(id.digest).words.0) }

    private func number(ofKey key: Int64) -> Int? {
        let place = keys.partitioningIndex { $0 >= key }
        return place < keys.count && keys[place] == key ? place : nil
    }

    /// The chunk that another one is stored against.
    func base(of number: Int) -> Int? {
        guard !bases.isEmpty, bases[number] > 0 else { return nil }
        return Int(bases[number]) - 1
    }
}

/// A set of numbers below a limit, one bit for each.
struct BitSet {
    private var words: [UInt64]

    init(limit: Int) { words = [UInt64](repeating: 0, count: (limit + 63) / 64) }

    /// - Returns: whether it was newly inserted.
    mutating func insert(_ number: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(number & 63)
        defer { words[number >> 6] |= bit }
        return words[number >> 6] & bit == 0
    }
}
