import BackupCore
import CISAL

/// Expands segments of raw DEFLATE (`ChunkCodec.deflate`, `ChunkCodec.deflateAgainstBase`) from any compressor, with ISA-L's igzip: twice as fast as
/// zlib. `Inflater` is for archives from any source.
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
