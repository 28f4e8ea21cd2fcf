import BackupCore
import CISAL
import CZlib

/// Compresses chunks with ISA-L's igzip at level 1 (`ChunkCodec.deflate`): about three times as fast as zlib's level 1, at the
/// same ratio. A segment is raw DEFLATE without a final block; it ends on a byte boundary with a full flush. One compressor
/// serves many chunks; the segments are independent of each other.
public struct SegmentDeflater: ~Copyable {
    // igzip keeps pointers to both, so they must not move.
    private let stream: UnsafeMutablePointer<isal_zstream>
    private let levelBuffer: UnsafeMutablePointer<UInt8>

    public init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: isal_zstream())
        levelBuffer = .allocate(capacity: Int(backupfs_igzip_level_1_buffer_bytes))
    }

    deinit {
        stream.deinitialize(count: 1)
        stream.deallocate()
        levelBuffer.deallocate()
    }

    /// Replaces the contents of `output` with one segment.
    public mutating func compress(_ input: UnsafeRawBufferPointer, into output: inout [UInt8]) {
        precondition(input.count < UInt32.max / 2, "a chunk is far smaller than 2 GiB")
        // Incompressible data grows by 5 bytes per 65,535; the flush adds 5.
        let bound = input.count + input.count / 8_000 * 5 + 256
        if output.count < bound { output = [UInt8](repeating: 0, count: bound) }
        let produced = output.withUnsafeMutableBytes { buffer in
            backupfs_igzip_begin_segment(stream, levelBuffer)
            // igzip does not write through next_in; its C interface requires the cast.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(input.count)
            stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(buffer.count)
            let result = isal_deflate(stream)
            precondition(
                result == COMP_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0,
                "there is room for the whole segment")
            return buffer.count - Int(stream.pointee.avail_out)
        }
        output.removeLast(output.count - produced)
    }
}

/// Expands segments of raw DEFLATE (`ChunkCodec.deflate`, `ChunkCodec.deflateAgainstBase`) from any compressor, with ISA-L's
/// igzip: twice as fast as zlib. `Inflater` is for archives from any source.
public struct SegmentInflater: ~Copyable {
    // igzip keeps a pointer into its own state, so it must not move.
    private let state: UnsafeMutablePointer<inflate_state>

    public init() {
        state = .allocate(capacity: 1)
        // Only fields that isal_inflate_init sets are read before they are written.
    }

    deinit { state.deallocate() }

    /// Expands one segment that needs no dictionary; otherwise like `expand(_:dictionary:into:)`.
    public mutating func expand(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
        expand(input, dictionary: UnsafeRawBufferPointer(start: nil, count: 0), into: output)
    }

    /// Expands one segment into exactly `output.count` bytes.
    /// - Parameter dictionary: the same bytes that the compressor got, 32 KiB at most; empty for none.
    /// - Returns: false when the segment is damaged or does not expand to exactly `output.count` bytes.
    public mutating func expand(
        _ input: UnsafeRawBufferPointer, dictionary: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        isal_inflate_init(state)
        if let base = dictionary.baseAddress, !dictionary.isEmpty {
            let bytes = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
            guard isal_inflate_set_dict(state, bytes, UInt32(dictionary.count)) == COMP_OK else { return false }
        }
        state.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        state.pointee.avail_in = UInt32(input.count)
        state.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        state.pointee.avail_out = UInt32(output.count)
        guard isal_inflate(state) == ISAL_DECOMP_OK, state.pointee.avail_out == 0 else { return false }
        // The rest of the segment may only be the flush marker: it must not yield another byte.
        var extra: UInt8 = 0
        return withUnsafeMutablePointer(to: &extra) { extra in
            state.pointee.next_out = extra
            state.pointee.avail_out = 1
            let result = isal_inflate(state)
            return (result == ISAL_DECOMP_OK || result == ISAL_END_INPUT) && state.pointee.avail_out == 1
                && state.pointee.avail_in == 0
        }
    }
}

/// Compresses with zlib into whole streams of raw DEFLATE, with a preset dictionary: the middles of deltas
/// (`ChunkCodec.middleAgainstBase`), which zlib makes a fifth as large as igzip does. For whole chunks, `SegmentDeflater` is
/// faster. One compressor serves many streams; they are independent of each other.
public struct StreamDeflater: ~Copyable {
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

    /// Appends one stream to `output`.
    /// - Parameter dictionary: 32 KiB at most; empty for none.
    public mutating func compress(
        _ input: UnsafeRawBufferPointer, dictionary: UnsafeRawBufferPointer, appendingTo output: inout [UInt8]
    ) {
        precondition(input.count < UInt32.max, "a chunk is far smaller than 4 GiB")
        deflateReset(stream)
        if let base = dictionary.baseAddress, !dictionary.isEmpty {
            let result = deflateSetDictionary(stream, base.assumingMemoryBound(to: UInt8.self), UInt32(dictionary.count))
            precondition(result == Z_OK, "a compressor that was just reset takes a dictionary")
        }
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: Int(deflateBound(stream, UInt(input.count)))))
        let produced = output.withUnsafeMutableBytes { buffer in
            let free = buffer[start...]
            // zlib does not write through next_in; its C interface requires the cast.
            let source = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.next_in = UnsafeMutablePointer(mutating: source)
            stream.pointee.avail_in = UInt32(input.count)
            stream.pointee.next_out = UnsafeMutableRawBufferPointer(rebasing: free).baseAddress?.assumingMemoryBound(
                to: UInt8.self)
            stream.pointee.avail_out = UInt32(free.count)
            let result = deflate(stream, Z_FINISH)
            precondition(result == Z_STREAM_END, "deflateBound leaves room for the whole stream")
            return free.count - Int(stream.pointee.avail_out)
        }
        output.removeLast(output.count - start - produced)
    }
}

/// Expands raw DEFLATE with zlib: archives from any source piece by piece, and the middles of deltas. (`SegmentInflater` expands
/// whole chunks.)
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

    /// Expands one whole stream into exactly `output.count` bytes, at least one. Can be called again for the next stream, but not
    /// after `step`.
    /// - Parameter dictionary: the same bytes that the compressor got, 32 KiB at most; empty for none.
    /// - Returns: false unless the input is one stream of exactly this length, with its final block and nothing after it.
    public mutating func expand(
        _ input: UnsafeRawBufferPointer, dictionary: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard inflateReset(stream) == Z_OK else { return false }
        if let base = dictionary.baseAddress, !dictionary.isEmpty {
            let bytes = base.assumingMemoryBound(to: UInt8.self)
            guard inflateSetDictionary(stream, bytes, UInt32(dictionary.count)) == Z_OK else { return false }
        }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(output.count)
        return inflate(stream, Z_FINISH) == Z_STREAM_END && stream.pointee.avail_in == 0 && stream.pointee.avail_out == 0
    }
}
