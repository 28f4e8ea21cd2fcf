import BackupCore
import CZlib

/// Expands raw DEFLATE piece by piece with zlib, for archives from any source. (`SegmentInflater` expands our own chunks.)
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

    /// One call of inflate(3).
    /// - Returns: bytes consumed and produced and whether the final block has ended, or `nil` when the data is damaged.
    public mutating func step(
        input: UnsafeRawBufferPointer, output: UnsafeMutableRawBufferPointer
    ) -> (inputCount: Int, outputCount: Int, isFinished: Bool)? {
        // zlib does not write through next_in; its C interface requires the cast.
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
