import BackupCore
import CISAL

/// Compresses chunks with ISA-L's igzip at level 1 (`ChunkCodec.deflate`): about three times as fast as zlib's level 1, at the same ratio. A segment is raw
/// DEFLATE without a final block; it ends on a byte boundary with a full flush. One compressor serves many chunks; the segments are independent of each other.
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
