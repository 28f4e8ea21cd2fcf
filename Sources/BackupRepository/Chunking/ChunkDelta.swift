import BackupCore
import SystemIO

/// The form of a chunk that is stored against a base (`ChunkCodec.middleAgainstBase`): how many bytes both have in common at the
/// beginning (`u16`) and at the end (`u16`), and the bytes between as one stream of raw DEFLATE. Its preset dictionary are the
/// last 32 KiB of the bytes between of the base. A chunk without bytes between has no stream.
///
/// Compressing the whole chunk with the whole base as dictionary would give nearly the same size, and take three times as long:
/// zlib would enter the whole base into its tables, and search them for each byte.
enum ChunkDelta {
    /// The two lengths.
    static let headerSizeBytes = 4
    /// The greatest length of a common beginning or end, in bytes.
    private static let commonLimitBytes = Int(UInt16.max)

    /// What a chunk and its base have in common.
    private struct Ends {
        let startBytes: Int
        let endBytes: Int

        /// - Returns: the bytes between.
        func middle(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: bytes[startBytes..<bytes.count - endBytes])
        }

        /// The bytes of the base that help with the chunk's middle.
        func dictionary(of base: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: middle(of: base).suffix(ChunkEncoder.dictionaryByteCount))
        }
    }

    /// Replaces the contents of `output` with the chunk's delta to its base.
    static func encode(
        _ plain: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, _ deflater: inout StreamDeflater,
        into output: inout [UInt8]
    ) {
        let limit = min(plain.count, base.count)
        let start = commonStart(plain, base, limit: min(limit, commonLimitBytes))
        // They do not overlap in either of both: the middle may be empty, but nothing counts twice.
        let end = commonEnd(plain, base, limit: min(limit - start, commonLimitBytes))
        let ends = Ends(startBytes: start, endBytes: end)
        output.removeAll(keepingCapacity: true)
        for length in [start, end] {
            output.append(UInt8(truncatingIfNeeded: length))
            output.append(UInt8(truncatingIfNeeded: length >> 8))
        }
        let middle = ends.middle(of: plain)
        if !middle.isEmpty { deflater.compress(middle, dictionary: ends.dictionary(of: base), appendingTo: &output) }
    }

    /// Fills `output` with a chunk's plain bytes.
    /// - Returns: false unless the delta is well-formed and gives exactly `output.count` bytes.
    static func expand(
        _ stored: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, _ inflater: inout Inflater,
        into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard stored.count >= headerSizeBytes else { return false }
        let start = Int(stored[0]) | Int(stored[1]) << 8
        let end = Int(stored[2]) | Int(stored[3]) << 8
        guard start + end <= base.count, start + end <= output.count else { return false }
        let ends = Ends(startBytes: start, endBytes: end)
        copy(base[..<start], to: output[..<start])
        copy(base[(base.count - end)...], to: output[(output.count - end)...])
        let stream = UnsafeRawBufferPointer(rebasing: stored[headerSizeBytes...])
        let middle = UnsafeMutableRawBufferPointer(rebasing: output[start..<output.count - end])
        guard !middle.isEmpty else { return stream.isEmpty }
        return inflater.expand(stream, dictionary: ends.dictionary(of: base), into: middle)
    }

    private static func copy(_ source: Slice<UnsafeRawBufferPointer>, to target: Slice<UnsafeMutableRawBufferPointer>) {
        UnsafeMutableRawBufferPointer(rebasing: target).copyMemory(from: UnsafeRawBufferPointer(rebasing: source))
    }

    private static func commonStart(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, limit: Int) -> Int {
        var count = 0
        while count + 8 <= limit, word(left, count) == word(right, count) { count += 8 }
        while count < limit, left[count] == right[count] { count += 1 }
        return count
    }

    private static func commonEnd(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, limit: Int) -> Int {
        var count = 0
        while count + 8 <= limit, word(left, left.count - count - 8) == word(right, right.count - count - 8) { count += 8 }
        while count < limit, left[left.count - count - 1] == right[right.count - count - 1] { count += 1 }
        return count
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}
