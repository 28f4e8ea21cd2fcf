import BackupCore
import SystemIO

/// Turns the stored bytes of chunks into plain bytes. One expander serves many chunks; the order does not matter.
struct ChunkExpander: ~Copyable {
    private var segments = SegmentInflater()
    /// Made for the first chunk that needs it.
    private var streams: Inflater?

    /// Fills `output` with a chunk's plain bytes.
    /// - Parameter base: all plain bytes of the base; empty for a codec that needs none.
    /// - Returns: false unless the stored bytes give exactly `output.count` bytes.
    mutating func expand(
        _ stored: UnsafeRawBufferPointer, _ codec: ChunkCodec, base: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        switch codec {
        case .raw:
            guard stored.count == output.count else { return false }
            output.copyMemory(from: stored)
            return true
        case .deflate: return segments.expand(stored, into: output)
        case .deflateAgainstBase:
            let dictionary = UnsafeRawBufferPointer(rebasing: base.suffix(ChunkEncoder.dictionaryByteCount))
            return segments.expand(stored, dictionary: dictionary, into: output)
        case .middleAgainstBase:
            var inflater = streams.take() ?? Inflater()
            let isWhole = ChunkDelta.expand(stored, base: base, &inflater, into: output)
            streams = consume inflater
            return isWhole
        }
    }

    /// - Parameter base: all plain bytes of the base; empty for a codec that needs none.
    /// - Returns: `nil` unless the stored bytes give exactly `plainLength` bytes.
    mutating func expand(_ stored: [UInt8], _ codec: ChunkCodec, plainLength: Int, base: [UInt8] = []) -> [UInt8]? {
        var isWhole = false
        let plain = [UInt8](unsafeUninitializedCapacity: plainLength) { buffer, count in
            let output = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: plainLength)
            isWhole = stored.withUnsafeBytes { input in
                base.withUnsafeBytes { expand(input, codec, base: $0, into: output) }
            }
            // A partial result is never used.
            count = isWhole ? plainLength : 0
        }
        return isWhole ? plain : nil
    }
}
