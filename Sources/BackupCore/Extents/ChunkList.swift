/// A compact list of chunks: neighbours are in the same pack, and few have a base.
struct ChunkList: Sendable {
    private struct Item: Sendable {
        let id: ChunkID
        let packOffset: UInt64
        let storedLength: UInt32
        let plainLength: UInt32
        let plainCRC32: UInt32
        let storedCRC32: UInt32
        let pack: UInt32
        /// The base's index in `bases` plus one; 0 for none.
        let base: UInt32
        let codec: ChunkCodec
    }

    private var items: [Item] = []
    private var packs: [PackID] = []
    private var bases: [ChunkID] = []

    mutating func trim() {
        items.trim()
        bases.trim()
    }

    /// - Returns: its index. Does not add the last chunk again.
    mutating func append(_ chunk: StoredChunk) -> UInt32 {
        if let last = items.last, last.id == chunk.id, self[items.count - 1] == chunk { return UInt32(items.count - 1) }
        if packs.last != chunk.pack { packs.append(chunk.pack) }
        if let base = chunk.base { bases.append(base) }
        items.append(
            Item(
                id: chunk.id, packOffset: chunk.packOffset, storedLength: chunk.storedLength, plainLength: chunk.plainLength,
                plainCRC32: chunk.plainCRC32, storedCRC32: chunk.storedCRC32, pack: UInt32(packs.count - 1),
                base: chunk.base == nil ? 0 : UInt32(bases.count), codec: chunk.codec))
        return UInt32(items.count - 1)
    }

    subscript(index: Int) -> StoredChunk {
        let item = items[index]
        return StoredChunk(
            id: item.id, pack: packs[Int(item.pack)], packOffset: item.packOffset, storedLength: item.storedLength,
            plainLength: item.plainLength, codec: item.codec, plainCRC32: item.plainCRC32, storedCRC32: item.storedCRC32,
            base: item.base == 0 ? nil : bases[Int(item.base) - 1])
    }
}
