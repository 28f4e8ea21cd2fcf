/// A piece of a served file. Everything that the tree serves is a list of these (`ExtentTable`).
public enum Extent: Sendable {
    case literal([UInt8])
    /// A part of a chunk's plain bytes.
    case plain(StoredChunk, offset: UInt32, length: UInt32)
    /// All of a chunk's stored bytes, unchanged.
    case stored(StoredChunk)
    case source(any ByteSource, offset: UInt64, length: UInt64)

    public var length: UInt64 {
        switch self {
        case .literal(let bytes): UInt64(bytes.count)
        case .plain(_, _, let length): UInt64(length)
        case .stored(let chunk): UInt64(chunk.storedLength)
        case .source(_, _, let length): length
        }
    }
}
