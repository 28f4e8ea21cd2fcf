/// The location and the encoding of a chunk: all that a read needs.
public struct StoredChunk: Hashable, Sendable {
    public let id: ChunkID
    public let pack: PackID
    /// Offset of the stored bytes in the pack, in bytes.
    public let packOffset: UInt64
    public let storedLength: UInt32
    public let plainLength: UInt32
    public let codec: ChunkCodec
    /// CRC-32 of the plain bytes.
    public let plainCRC32: UInt32
    /// CRC-32 of the stored bytes, so that they can be verified before they are served unchanged.
    public let storedCRC32: UInt32
    /// The base's name, for `ChunkCodec.deflateAgainstBase` only.
    public let base: ChunkID?

    public init(
        id: ChunkID, pack: PackID, packOffset: UInt64, storedLength: UInt32, plainLength: UInt32, codec: ChunkCodec,
        plainCRC32: UInt32, storedCRC32: UInt32, base: ChunkID? = nil
    ) {
        self.id = id
        self.pack = pack
        self.packOffset = packOffset
        self.storedLength = storedLength
        self.plainLength = plainLength
        self.codec = codec
        self.plainCRC32 = plainCRC32
        self.storedCRC32 = storedCRC32
        self.base = base
    }
}
