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
    var table: CompactChunkIndex

    /// Reads the index of every pack. Packs that vanish meanwhile are left out.
    init(_ catalog: Catalog, progress: ProgressHandler? = nil) throws(BackupError) {
        let present = try PackFolder.list(catalog.layout).sorted { $0.key < $1.key }
        // Only used to reserve memory, since a catalog's numbers may be wrong. An entry of an index has at least 49 bytes.
        let mostChunks = present.reduce(UInt64(0)) { $0 &+ $1.value } / 49
        let claimed = (try? catalog.totals())?.chunkCount ?? 0
        table = CompactChunkIndex(capacity: Int(clamping: min(claimed, mostChunks)))
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
