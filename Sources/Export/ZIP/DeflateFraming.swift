/// Plain bytes inside a DEFLATE stream (RFC 1951, section 3.2.4): stored blocks, each a header of five bytes and up to 65,535
/// raw bytes. They may be anywhere the stream is on a byte boundary, so before and after every stored segment.
enum DeflateFraming {
    static let blockSizeLimitBytes: UInt64 = 65_535
    static let blockHeaderSize: UInt64 = 5

    /// An empty final block with fixed codes: it completes a run of segments to a whole stream.
    static let end: [UInt8] = [0x03, 0x00]

    /// Length of `plainLength` bytes with their block headers; 0 for 0.
    static func framedLength(_ plainLength: UInt64) -> UInt64 {
        let blockCount = plainLength / blockSizeLimitBytes + (plainLength.isMultiple(of: blockSizeLimitBytes) ? 0 : 1)
        return plainLength + blockCount * blockHeaderSize
    }

    /// Header of a block that is not the final one: a zero byte, the length and its complement, both little-endian.
    static func blockHeader(length: UInt16) -> [UInt8] {
        let complement = ~length
        return [
            0, UInt8(truncatingIfNeeded: length), UInt8(length >> 8), UInt8(truncatingIfNeeded: complement),
            UInt8(complement >> 8),
        ]
    }
}
