/// A piece of a file's plain content, used before it is decided whether the file is served plain or inside an archive.
public enum ContentPiece: Sendable {
    case literal([UInt8])
    case chunk(StoredChunk)
    case source(any ByteSource, offset: UInt64, length: UInt64)

    /// Length of the plain bytes.
    public var length: UInt64 {
        switch self {
        case .literal(let bytes): UInt64(bytes.count)
        case .chunk(let chunk): UInt64(chunk.plainLength)
        case .source(_, _, let length): length
        }
    }
}
