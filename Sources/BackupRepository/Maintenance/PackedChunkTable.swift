import BackupCore

/// Every chunk that the indexes of a repository's packs name, small enough to hold all of them in memory: about 31 bytes for each, so that
/// 100 GB of databases or 6 TB of photos take 200 MB. A chunk that lies in several packs has a row for each.
///
/// A chunk is known by the first 16 bytes of its name here: two that share them would need 2^64 tries to be made.
struct PackedChunkTable {
    struct Key: Hashable {
        let high: UInt64
        let low: UInt64

        init(_ id: ChunkID) {
            (high, low) = id.digest.withUnsafeBytes {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        }
    }

    struct Row {
        let key: Key
        let storedLength: UInt32
        let plainLength: UInt32
    }

    private static let damagedFlag: UInt8 = 1
    private static let neededFlag: UInt8 = 2
    /// It is stored against a base.
    private static let differenceFlag: UInt8 = 4

    private(set) var rows: [Row] = []
    private var flags: [UInt8] = []
    /// The bases of those that have one, in the order of their rows.
    private var bases: [(row: UInt32, key: Key)] = []
    /// A hash table with the first row of each chunk, as its number plus one; 0 is free. At most three quarters are taken.
    private var slots: [UInt32]
    private var chunkCount = 0
    /// The other rows of chunks that have several.
    private var duplicates: [UInt32: [UInt32]] = [:]

    /// - Parameter capacity: how many chunks to make room for at once.
    init(capacity: Int) {
        slots = [UInt32](repeating: 0, count: max(1024, capacity / 3 * 4 + 4))
        rows.reserveCapacity(capacity)
        flags.reserveCapacity(capacity)
    }

    mutating func append(_ entry: PackEntry) {
        let row = UInt32(rows.count)
        let key = Key(entry.id)
        rows.append(Row(key: key, storedLength: entry.storedLength, plainLength: entry.plainLength))
        if let base = entry.base { bases.append((row, Key(base))) }
        flags.append(entry.base == nil ? 0 : Self.differenceFlag)
        if chunkCount >= slots.count / 4 * 3 { grow() }
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

    /// Where the key stands, or the free place where it belongs.
    private func slot(of key: Key) -> Int {
        // A digest is spread evenly already; the first multiplication is for names that were made to meet in one place. The second takes the product's
        // share of the table, whose size need not be a power of two.
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

    /// All rows of a chunk; none when no pack has it.
    func allRows(of key: Key) -> [Int] {
        guard let first = firstRow(of: key) else { return [] }
        return [first] + (duplicates[UInt32(first)] ?? []).map { Int($0) }
    }

    /// The first row of each chunk that has several.
    var duplicated: [Int] { duplicates.keys.map { Int($0) } }

    func hasDuplicates(_ firstRow: Int) -> Bool { !duplicates.isEmpty && duplicates[UInt32(firstRow)] != nil }

    /// The base that the row's bytes need to be expanded; `nil` for a chunk that is stored whole.
    func base(ofRow row: Int) -> Key? {
        guard flags[row] & Self.differenceFlag != 0 else { return nil }
        let place = bases.partitioningIndex { $0.row >= row }
        return bases[place].key
    }

    func isDamaged(_ row: Int) -> Bool { flags[row] & Self.damagedFlag != 0 }
    mutating func setDamaged(_ row: Int) { flags[row] |= Self.damagedFlag }

    func isNeeded(_ row: Int) -> Bool { flags[row] & Self.neededFlag != 0 }
    mutating func setNeeded(_ row: Int, _ isNeeded: Bool = true) {
        if isNeeded { flags[row] |= Self.neededFlag } else { flags[row] &= ~Self.neededFlag }
    }

    /// Whether the row gives the chunk's bytes: it is whole itself, and so is its base if it has one.
    func isUsable(_ row: Int) -> Bool {
        guard !isDamaged(row) else { return false }
        guard let base = base(ofRow: row) else { return true }
        return allRows(of: base).contains { !isDamaged($0) && self.base(ofRow: $0) == nil }
    }
}
