import BackupCore
import SystemIO

/// Finds a single flipped bit, which is the most frequent damage by ageing disks and memory. A checksum from before the damage
/// shows which bit it is; the caller compares the result with its name as well.
enum SingleBitRepair {
    /// Trying every bit takes a digest of all bytes each time: beyond this size it takes too long.
    private static let triedByteCountLimit = 48 << 10

    /// By CRC-32: a flipped bit changes it by a value that depends only on its distance from the end.
    /// - Returns: the offset of the byte and the bit in it, or `nil` when it was not a single bit.
    static func position(in bytes: UnsafeRawBufferPointer, crc32 expected: UInt32) -> (offset: Int, bit: UInt8)? {
        let difference = CRC32.of(bytes) ^ expected
        guard difference != 0, bytes.count < 1 << 28 else { return nil }
        var changes = (0..<8).map { table[1 << $0] }
        for distance in 0..<bytes.count {
            for bit in 0..<8 where changes[bit] == difference { return (bytes.count - 1 - distance, UInt8(bit)) }
            for bit in 0..<8 { changes[bit] = changes[bit] >> 8 ^ table[Int(changes[bit] & 0xFF)] }
        }
        return nil
    }

    /// For a structure of any length that ends in the CRC-32 of everything before it. The bit may be in the checksum itself.
    static func repaired(endingInCRC32 bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count > 4 else { return nil }
        let checkedCount = bytes.count - 4
        let expected = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[checkedCount + $1]) << UInt32(8 * $1) }
        let difference = CRC32.of(Array(bytes[..<checkedCount])) ^ expected
        var right = bytes
        if difference.nonzeroBitCount == 1 {
            right[checkedCount + difference.trailingZeroBitCount / 8] ^= 1 << UInt8(difference.trailingZeroBitCount % 8)
            return right
        }
        let found = bytes.withUnsafeBytes { position(in: UnsafeRawBufferPointer(rebasing: $0[..<checkedCount]), crc32: expected) }
        guard let found else { return nil }
        right[found.offset] ^= 1 << found.bit
        return right
    }

    /// The usual table of CRC-32, by byte.
    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    /// Tries each bit of a small structure until `isRight` returns true.
    static func repaired(_ bytes: [UInt8], _ isRight: ([UInt8]) -> Bool) -> [UInt8]? {
        guard bytes.count <= triedByteCountLimit else { return nil }
        var candidate = bytes
        for offset in candidate.indices {
            for bit in 0..<8 {
                candidate[offset] ^= 1 << UInt8(bit)
                if isRight(candidate) { return candidate }
                candidate[offset] ^= 1 << UInt8(bit)
            }
        }
        return nil
    }

    /// The same, by the SHA-256 of the original bytes.
    static func repaired(_ bytes: [UInt8], sha256: SHA256Digest) -> [UInt8]? {
        repaired(bytes) { SHA256Hasher.hash($0) == sha256 }
    }
}
