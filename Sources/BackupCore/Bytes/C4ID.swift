/// The text of a SHA-512 as SMPTE ST 2114 has it: `c4` and 88 digits to the base 58.
public enum C4ID {
    private static let digits = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".utf8)
    private static let prefix = Array("c4".utf8)
    private static let digitCount = 88
    private static let base: UInt32 = 58
    private static let wordCount = 16

    public static func encode(_ digest: SHA512Digest) -> String {
        var words = digest.withUnsafeBytes { bytes in
            (0..<wordCount).map { UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)) }
        }
        var text = [UInt8](repeating: 0, count: digitCount)
        for position in stride(from: digitCount - 1, through: 0, by: -1) {
            var rest: UInt64 = 0
            for index in words.indices {
                let value = rest << 32 | UInt64(words[index])
                words[index] = UInt32(value / UInt64(base))
                rest = value % UInt64(base)
            }
            text[position] = digits[Int(rest)]
        }
        return String(decoding: prefix + text, as: UTF8.self)
    }

    /// - Returns: `nil` for anything that `encode` does not write.
    public static func decode(_ text: some StringProtocol) -> SHA512Digest? {
        let bytes = Array(text.utf8)
        guard bytes.count == prefix.count + digitCount, bytes.starts(with: prefix) else { return nil }
        var words = [UInt32](repeating: 0, count: wordCount)
        for byte in bytes.dropFirst(prefix.count) {
            guard let digit = digits.firstIndex(of: byte) else { return nil }
            var carry = UInt64(digit)
            for index in words.indices.reversed() {
                let value = UInt64(words[index]) * UInt64(base) + carry
                words[index] = UInt32(truncatingIfNeeded: value)
                carry = value >> 32
            }
            // 58 to the power of 88 is more than SHA-512 has.
            guard carry == 0 else { return nil }
        }
        return SHA512Digest(bytes: words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } })
    }
}
