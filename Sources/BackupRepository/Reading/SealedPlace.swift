import BackupCore

/// The cache key for the stored bytes of a sealed chunk. A chunk may be stored in different forms at different places.
struct SealedPlace: Hashable {
    let pack: PackID
    let offset: UInt64

    init(_ chunk: StoredChunk) {
        pack = chunk.pack
        offset = chunk.packOffset
    }
}
