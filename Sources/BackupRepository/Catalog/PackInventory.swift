import BackupCore
import SystemIO

/// All existing packs, according to their own indexes.
struct PackInventory {
    struct Pack {
        let id: PackID
        let kind: PackKind
        /// Length of the file in bytes.
        let byteCount: UInt64
        let chunkCount: Int
        /// The index of its first chunk's row in the table; the rows are in the order of the index.
        let firstRow: Int
        /// A sum over everything that the catalog must hold about its chunks.
        let catalogSum: UInt64
    }

    /// Packs with a readable index.
    private(set) var packs: [Pack] = []
    /// Packs without one, and why.
    private(set) var unreadable: [(pack: PackID, byteCount: UInt64, error: BackupError)] = []
    var table: PackedChunkTable

    /// Reads the index of every pack. Packs that vanish meanwhile are left out.
    init(_ catalog: Catalog, progress: ProgressHandler? = nil) throws(BackupError) {
        let present = try PackFolder.list(catalog.layout).sorted { $0.key < $1.key }
        // Only used to reserve memory, since a catalog's numbers may be wrong. An entry of an index has at least 49 bytes.
        let mostChunks = present.reduce(UInt64(0)) { $0 &+ $1.value } / 49
        let claimed = (try? catalog.totals())?.chunkCount ?? 0
        table = PackedChunkTable(capacity: Int(clamping: min(claimed, mostChunks)))
        for (number, (id, byteCount)) in present.enumerated() {
            progress?(.step("Reading the packs' indexes...", number, of: present.count))
            do {
                add(try PackIndex.read(id, in: catalog.layout, catalog.protection), id, byteCount)
            } catch {
                if error.code != .notFound { unreadable.append((id, byteCount, error)) }
            }
        }
    }

    private mutating func add(_ index: PackIndex, _ id: PackID, _ byteCount: UInt64) {
        let firstRow = table.rows.count
        for entry in index.entries { table.append(entry) }
        let sum = index.storedChunks(in: id).reduce(UInt64(0)) { $0 &+ CatalogRowSum.of($1) }
        packs.append(
            Pack(
                id: id, kind: index.kind, byteCount: byteCount, chunkCount: index.entries.count, firstRow: firstRow,
                catalogSum: sum))
    }

    /// Bytes of all readable packs.
    var byteCount: UInt64 { packs.reduce(0) { $0 + $1.byteCount } }
    var chunkCount: Int { table.rows.count }

    func pack(ofRow row: Int) -> Pack { packs[packNumber(ofRow: row)] }

    /// A pack without chunks begins where the next one does, so the last such pack is the right one.
    func packNumber(ofRow row: Int) -> Int { packs.partitioningIndex { $0.firstRow > row } - 1 }
}

/// Every chunk that the indexes of a repository's packs list, compact enough to hold all of them in memory: about 29 bytes for
/// each, so that 100 GB of databases or 6 TB of photos take 200 MB. A chunk that is in several packs has a row for each.
///
/// A chunk is identified by the first 16 bytes of its name here: finding two that share them would take 2^64 tries.
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
        static let damagedFlag: UInt64 = 1
        static let neededFlag: UInt64 = 2
        /// It is stored against a base.
        static let deltaFlag: UInt64 = 4
        /// Both lengths are below 2^28: `ChunkLimits`.
        private static let lengthBitCount: UInt64 = 28

        let key: Key
        /// From the lowest bit: flags, the stored length, the plain length.
        var bits: UInt64

        fileprivate init(_ entry: PackEntry) {
            key = Key(entry.id)
            let lengths = UInt64(entry.plainLength) << Self.lengthBitCount | UInt64(entry.storedLength)
            bits = lengths << 3 | (entry.base == nil ? 0 : Self.deltaFlag)
        }

        var storedLength: UInt32 { UInt32(bits >> 3 & (1 << Self.lengthBitCount - 1)) }
        var plainLength: UInt32 { UInt32(bits >> (3 + Self.lengthBitCount)) }
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
        let row = UInt32(rows.count)
        rows.append(Row(entry))
        if let base = entry.base { bases.append((row, Key(base))) }
        if chunkCount >= slots.count / 5 * 4 { grow() }
        let slot = slot(of: Key(entry.id))
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
}
