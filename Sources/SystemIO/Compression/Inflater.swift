import BackupCore
import CZlib

/// Expands raw DEFLATE, either whole segments (`ChunkCodec.deflate`) or a stream piece by piece.
public struct Inflater: ~Copyable {
    // zlib keeps a pointer to the stream in its own state, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    public init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard backupfs_inflate_init_raw(stream) == Z_OK else { fatalError("zlib could not allocate a decompressor") }
    }

    deinit {
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Starts again, for another stream.
    public mutating func reset() { inflateReset(stream) }

    /// Expands one segment into exactly the bytes it must give.
    /// - Returns: false when the segment is damaged or does not give exactly `output.count` bytes.
    public mutating func expandSegment(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
        reset()
        return expandPrepared(input, into: output)
    }

    private mutating func expandPrepared(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
        var extra: UInt8 = 0
        let produced = step(input: input, output: output)
        guard let produced, produced.outputCount == output.count else { return false }
        if produced.inputCount == input.count { return true }
        // What is left of the segment may be the flush marker only: it must give no further byte.
        let rest = UnsafeRawBufferPointer(rebasing: input[produced.inputCount...])
        return withUnsafeMutableBytes(of: &extra) { buffer in
            guard let tail = step(input: rest, output: buffer) else { return false }
            return tail.outputCount == 0 && tail.inputCount == rest.count
        }
    }

    /// Expands one segment that was compressed with a preset dictionary (`ChunkCodec.deflateAgainstBase`).
    /// - Parameter dictionary: the same bytes that were given to the compressor, 32 KiB at most; empty for none.
    /// - Returns: as `expandSegment(_:into:)`.
    public mutating func expandSegment(
        _ input: UnsafeRawBufferPointer, dictionary: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        reset()
        if let base = dictionary.baseAddress, !dictionary.isEmpty {
            let bytes = base.assumingMemoryBound(to: UInt8.self)
            guard inflateSetDictionary(stream, bytes, UInt32(dictionary.count)) == Z_OK else { return false }
        }
        return expandPrepared(input, into: output)
    }

    /// One call of inflate(3).
    /// - Returns: bytes taken and given and whether the final block has ended, or `nil` when the data is damaged.
    public mutating func step(
        input: UnsafeRawBufferPointer, output: UnsafeMutableRawBufferPointer
    ) -> (inputCount: Int, outputCount: Int, isFinished: Bool)? {
        // zlib does not write through next_in; the cast is what its C interface asks for.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(output.count)
        let result = inflate(stream, Z_SYNC_FLUSH)
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else { return nil }
        return (
            input.count - Int(stream.pointee.avail_in), output.count - Int(stream.pointee.avail_out), result == Z_STREAM_END
        )
    }
}
