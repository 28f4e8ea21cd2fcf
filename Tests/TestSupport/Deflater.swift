import CZlib

/// Compresses chunks with zlib, with or without a preset dictionary, as older programs stored deltas
/// (`ChunkCodec.deflateAgainstBase`). A segment is raw DEFLATE without a final block; it ends on a byte boundary with a full
/// flush. One compressor serves many chunks; the segments are independent of each other.
public struct Deflater: ~Copyable {
    // zlib keeps a pointer to the stream in its own state, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Parameter level: 1 (fastest) to 9 (smallest).
    public init(level: Int32) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard backupfs_deflate_init_raw(stream, level) == Z_OK else { fatalError("zlib could not allocate a compressor") }
    }

    deinit {
        deflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Replaces the contents of `output` with one segment.
    public mutating func compress(_ input: UnsafeRawBufferPointer, into output: inout [UInt8]) {
        compress(input, dictionary: UnsafeRawBufferPointer(start: nil, count: 0), into: &output)
    }

    /// Replaces the contents of `output` with one segment that needs `dictionary` to expand (`ChunkCodec.deflateAgainstBase`).
    /// - Parameter dictionary: 32 KiB at most; empty for none.
    public mutating func compress(
        _ input: UnsafeRawBufferPointer, dictionary: UnsafeRawBufferPointer, into output: inout [UInt8]
    ) {
        precondition(input.count < UInt32.max, "a chunk is far smaller than 4 GiB")
        deflateReset(stream)
        if let base = dictionary.baseAddress, !dictionary.isEmpty {
            let result = deflateSetDictionary(stream, base.assumingMemoryBound(to: UInt8.self), UInt32(dictionary.count))
            precondition(result == Z_OK, "a compressor that was just reset takes a dictionary")
        }
        let bound = Int(deflateBound(stream, UInt(input.count))) + 16
        output.removeAll(keepingCapacity: true)
        output.append(contentsOf: repeatElement(0, count: bound))
        let produced = output.withUnsafeMutableBytes { buffer in
            // zlib does not write through next_in; its C interface requires the cast.
            let source = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.next_in = UnsafeMutablePointer(mutating: source)
            stream.pointee.avail_in = UInt32(input.count)
            stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(buffer.count)
            let result = deflate(stream, Z_FULL_FLUSH)
            precondition(
                result == Z_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0,
                "deflateBound leaves room for the whole segment")
            return buffer.count - Int(stream.pointee.avail_out)
        }
        output.removeLast(output.count - produced)
    }
}
