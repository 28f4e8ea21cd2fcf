import BackupCore
import Glibc
import SystemIO

/// Turns a chunk's plain bytes into what stands in a pack, and proves that they come back from it. For one thread at a time.
final class ChunkEncoder {
    enum Compression {
        /// Compress whenever it saves anything.
        case whenSmaller
        /// Compress only what clearly shrinks; reading stays a plain copy for the rest.
        case whenClear
    }

    /// Larger chunks are tried on a sample before all of them is compressed.
    private static let sampledAboveBytes = 64 << 10
    private static let sampleSliceBytes = 4 << 10
    private static let sampleSliceCount = 3

    // Level 1: for backups speed comes first, and the ratio of the higher levels is a few percent better at a third of it.
    private var deflater = Deflater(level: 1)
    private var inflater = Inflater()
    private var compressed: [UInt8] = []
    private var expanded: [UInt8] = []

    /// Calls `body` with the index entry and the stored bytes, which are valid during the call only.
    /// - Throws: `repositoryDamaged` when compressed bytes do not expand to the chunk: memory or a library is at fault.
    func encode<Result>(
        _ id: ChunkID, _ plain: UnsafeRawBufferPointer, _ compression: Compression,
        _ body: (PackEntry, UnsafeRawBufferPointer) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        precondition(plain.count <= ChunkLimits.plainLengthBytes, "cutters never make larger chunks")
        let plainCRC32 = CRC32.of(plain)
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
        if expanded.count < plain.count { expanded = [UInt8](repeating: 0, count: plain.count) }
        let isSame = compressed.withUnsafeBytes { stored in
            expanded.withUnsafeMutableBytes { buffer in
                let output = UnsafeMutableRawBufferPointer(rebasing: buffer[..<plain.count])
                return inflater.expandSegment(stored, into: output) && Self.isEqual(UnsafeRawBufferPointer(output), plain)
            }
        }
        guard isSame else {
            throw BackupError(
                .repositoryDamaged, "a chunk did not survive its compression, so nothing of it was written",
                remedy: "Check the memory of this machine.")
        }
        return true
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

    /// Compresses three slices from the chunk's quarters.
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
