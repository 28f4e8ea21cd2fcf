import BackupCore
import Glibc
import SystemIO

/// Turns a chunk's plain bytes into its stored form, and verifies that decoding gives them back.
///
/// `@unchecked Sendable`: only one thread uses it at a time, the one that took it out of the `ChunkStore`.
final class ChunkEncoder: @unchecked Sendable {
    /// A stored chunk that another one may be stored against.
    struct Base: Sendable {
        /// Not stored against a base itself.
        let chunk: StoredChunk
        /// All its plain bytes.
        let plain: [UInt8]
    }

    enum Compression {
        /// Compress whenever it saves anything.
        case whenSmaller
        /// Compress only what clearly shrinks; reading the rest stays a plain copy.
        case whenClear
    }

    /// The size of DEFLATE's window: only this much of a base is useful as a dictionary.
    static let dictionaryByteCount = 32 << 10
    /// Of larger chunks, a sample is compressed first.
    private static let sampledAboveBytes = 64 << 10
    private static let sampleSliceBytes = 4 << 10
    private static let sampleSliceCount = 3

    private var deflater = SegmentDeflater()
    // Most matches are found in the base immediately, so the highest level costs little for the rest.
    private var deltaDeflater = StreamDeflater(level: 9)
    private var expander = ChunkExpander()
    private var compressed: [UInt8] = []
    private var expanded: [UInt8] = []
    /// Scratch space for the caller that seals the encoded chunk.
    var packed: [UInt8] = []

    /// Calls `body` with the index entry and the stored bytes, which are valid during the call only.
    /// - Throws: `repositoryDamaged` when the compressed bytes do not expand to the chunk; memory or a library is at fault.
    func encode<Result>(
        _ id: ChunkID, _ plain: UnsafeRawBufferPointer, _ compression: Compression, against base: Base? = nil,
        _ body: (PackEntry, UnsafeRawBufferPointer) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        precondition(plain.count <= ChunkLimits.plainLengthBytes, "cutters never make larger chunks")
        let plainCRC32 = CRC32.of(plain)
        if let base, try compress(plain, against: base) {
            return try compressed.withUnsafeBytesThrowing { (stored) throws(BackupError) in
                let entry = PackEntry(
                    id: id, codec: .middleAgainstBase, storedLength: UInt32(stored.count), plainLength: UInt32(plain.count),
                    plainCRC32: plainCRC32, storedCRC32: CRC32.of(stored), base: base.chunk.id)
                return try body(entry, stored)
            }
        }
        if try compress(plain, compression) {
            return try compressed.withUnsafeBytesThrowing { (stored) throws(BackupError) in
                let entry = PackEntry(
                    id: id, codec: .deflate, storedLength: UInt32(stored.count), plainLength: UInt32(plain.count),
                    plainCRC32: plainCRC32, storedCRC32: CRC32.of(stored), base: nil)
                return try body(entry, stored)
            }
        }
        let entry = PackEntry(
            id: id, codec: .raw, storedLength: UInt32(plain.count), plainLength: UInt32(plain.count), plainCRC32: plainCRC32,
            storedCRC32: plainCRC32, base: nil)
        return try body(entry, plain)
    }

    /// - Returns: whether `compressed` now holds the chunk's stored form; if not, it is stored raw.
    private func compress(_ plain: UnsafeRawBufferPointer, _ compression: Compression) throws(BackupError) -> Bool {
        if plain.count > Self.sampledAboveBytes, !isSampleWorthwhile(plain, compression) { return false }
        deflater.compress(plain, into: &compressed)
        guard isWorthwhile(compressed.count, of: plain.count, compression) else { return false }
        try proveCompressed(gives: plain, .deflate)
        return true
    }

    /// Compresses the delta to a base, if that is clearly smaller than the compressed chunk would be.
    /// - Returns: whether `compressed` now holds it.
    private func compress(_ plain: UnsafeRawBufferPointer, against base: Base) throws(BackupError) -> Bool {
        // A chunk longer than the window finds few matches at its own position in the base.
        guard plain.count <= 2 * Self.dictionaryByteCount else { return false }
        base.plain.withUnsafeBytes { ChunkDelta.encode(plain, base: $0, &deltaDeflater, into: &compressed) }
        // The chunk would compress about as well as its base.
        let expected = UInt64(plain.count) * UInt64(base.chunk.storedLength) / UInt64(max(1, base.chunk.plainLength))
        guard UInt64(compressed.count) <= expected / 4 * 3 else { return false }
        try proveCompressed(gives: plain, .middleAgainstBase, base: base.plain)
        return true
    }

    /// - Throws: `repositoryDamaged` unless `compressed` expands to the chunk.
    private func proveCompressed(
        gives plain: UnsafeRawBufferPointer, _ codec: ChunkCodec, base: [UInt8] = []
    ) throws(BackupError) {
        if expanded.count < plain.count { expanded = [UInt8](repeating: 0, count: plain.count) }
        let isSame = compressed.withUnsafeBytes { stored in
            expanded.withUnsafeMutableBytes { buffer in
                let output = UnsafeMutableRawBufferPointer(rebasing: buffer[..<plain.count])
                return base.withUnsafeBytes { expander.expand(stored, codec, base: $0, into: output) }
                    && Self.isEqual(UnsafeRawBufferPointer(output), plain)
            }
        }
        guard isSame else {
            throw BackupError(
                .repositoryDamaged, "a chunk was not the same after compression, so nothing of it was written",
                remedy: "Check the memory of this machine.")
        }
    }

    private static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
        return memcmp(leftBase, rightBase, left.count) == 0
    }

    private func isWorthwhile(_ stored: Int, of plain: Int, _ compression: Compression) -> Bool {
        switch compression {
        case .whenSmaller: stored < plain
        case .whenClear: stored < plain / 10 * 8
        }
    }

    /// Compresses three slices of the chunk, at its quarters.
    private func isSampleWorthwhile(_ plain: UnsafeRawBufferPointer, _ compression: Compression) -> Bool {
        var sample: [UInt8] = []
        for index in 1...Self.sampleSliceCount {
            let start = plain.count / (Self.sampleSliceCount + 1) * index
            sample.append(contentsOf: UnsafeRawBufferPointer(rebasing: plain[start..<start + Self.sampleSliceBytes]))
        }
        sample.withUnsafeBytes { deflater.compress($0, into: &compressed) }
        switch compression {
        case .whenSmaller: return compressed.count < sample.count / 20 * 19
        case .whenClear: return compressed.count < sample.count / 10 * 8
        }
    }
}
