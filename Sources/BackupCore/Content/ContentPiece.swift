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

/// The location and the encoding of a chunk: all that a read needs.
public struct StoredChunk: Hashable, Sendable {
    public let id: ChunkID
    public let pack: PackID
    /// Offset of the stored bytes in the pack, in bytes.
    public let packOffset: UInt64
    /// In bytes, in the pack.
    public let storedLength: UInt32
    /// In bytes, after decompression.
    public let plainLength: UInt32
    public let codec: ChunkCodec
    /// CRC-32 of the plain bytes.
    public let plainCRC32: UInt32
    /// CRC-32 of the stored bytes, so that they can be verified before they are served unchanged.
    public let storedCRC32: UInt32
    /// The base's name, for a codec that needs one (`ChunkCodec.needsBase`).
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

/// The encoding of a chunk's bytes in its pack. The raw values are part of the repository format.
public enum ChunkCodec: UInt8, Sendable {
    /// The plain bytes.
    case raw = 0
    /// Raw DEFLATE (RFC 1951) that ends on a byte boundary with a full flush and has no final block: any run of such
    /// segments followed by the bytes 03 00 is one valid DEFLATE stream.
    case deflate = 1
    /// Raw DEFLATE with the last 32 KiB of another chunk's plain bytes as preset dictionary. That other chunk, the base, never
    /// needs a base itself. Older programs wrote it; this one only reads it.
    case deflateAgainstBase = 2
    /// How many bytes the chunk has in common with its base at the beginning and at the end, and the bytes between as raw
    /// DEFLATE, with those between of the base as preset dictionary.
    case middleAgainstBase = 3

    /// Whether a chunk that is stored like this is read with the help of another one.
    public var needsBase: Bool {
        switch self {
        case .raw, .deflate: false
        case .deflateAgainstBase, .middleAgainstBase: true
        }
    }
}

/// Bytes outside the repository: a spool file, a media file of the live app.
public protocol ByteSource: AnyObject, Sendable {
    /// Reads up to `buffer.count` bytes at `offset`; 0 only at the end.
    /// - Throws: `BackupError` with `inputOutput` when the file has changed or disappeared.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int
}

/// Bytes in memory as a source.
public final class BytesSource: ByteSource {
    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let rest = bytes[min(bytes.count, Int(clamping: offset))...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

/// A run of bytes that an older and a newer version of a file have in common.
public struct CommonRange: Sendable, Equatable {
    /// Where it begins in the older version, in bytes.
    public let oldStart: UInt64
    /// Where it begins in the newer version, in bytes.
    public let newStart: UInt64
    /// In bytes.
    public let length: UInt64

    public init(oldStart: UInt64, newStart: UInt64, length: UInt64) {
        self.oldStart = oldStart
        self.newStart = newStart
        self.length = length
    }

    /// The end of the range in the old content; the byte there does not belong to it.
    public var oldEnd: UInt64 { oldStart + length }
    /// The end of the range in the new content; the byte there does not belong to it.
    public var newEnd: UInt64 { newStart + length }
}
