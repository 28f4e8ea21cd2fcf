import BackupCore
import GRDB

/// A SHA-256 as the catalog stores it: four big-endian 64-bit integers, which SQLite stores and compares without allocating.
struct DigestKey {
    let words: (Int64, Int64, Int64, Int64)

    init(_ digest: SHA256Digest) {
        words = digest.withUnsafeBytes { bytes in
            func word(_ index: Int) -> Int64 { Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: Int64.self)) }
            return (word(0), word(1), word(2), word(3))
        }
    }

    init(words: (Int64, Int64, Int64, Int64)) { self.words = words }

    /// - Throws: `repositoryDamaged`.
    init(_ row: Row, at index: Int) throws {
        words = (
            try row.integer(index), try row.integer(index + 1), try row.integer(index + 2), try row.integer(index + 3)
        )
    }

    var digest: SHA256Digest {
        let bigEndian = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: bigEndian) { SHA256Digest(exactBytes: $0) }
    }

    var arguments: StatementArguments { [words.0, words.1, words.2, words.3] }
}
