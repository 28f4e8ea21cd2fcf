/// The encoding of a chunk's bytes in its pack. The raw values are part of the repository format.
public enum ChunkCodec: UInt8, Sendable {
    /// The plain bytes.
    case raw = 0
    /// Raw DEFLATE (RFC 1951) that ends on a byte boundary with a full flush and has no final block: any run of such
    /// segments followed by the bytes 03 00 is one valid DEFLATE stream.
    case deflate = 1
    /// Raw DEFLATE with the last 32 KiB of another chunk's plain bytes as preset dictionary. That other chunk, the base, is never stored this way itself.
    case deflateAgainstBase = 2
}
