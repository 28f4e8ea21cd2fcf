import BackupCore
import SystemIO

/// Computes the digests of one file after another.
struct FileDigester: ~Copyable {
    private static let zeros = [UInt8](repeating: 0, count: 1 << 16)

    private let hasSHA256: Bool
    private let hasMD5: Bool
    private let hasSHA1: Bool
    private let hasXXH128: Bool
    private let hasC4: Bool
    private let hasXXH64: Bool
    private let hasXXH3: Bool
    private var sha256 = SHA256Hasher()
    private var md5 = MD5Hasher()
    private var sha1 = SHA1Hasher()
    private var xxh128 = XXH3Hasher(is128: true)
    private var c4 = SHA512Hasher()
    private var xxh64 = XXH64Hasher()
    private var xxh3 = XXH3Hasher(is128: false)

    init(_ algorithms: Set<HashAlgorithm>) {
        hasSHA256 = algorithms.contains(.sha256)
        hasMD5 = algorithms.contains(.md5)
        hasSHA1 = algorithms.contains(.sha1)
        hasXXH128 = algorithms.contains(.xxh128)
        hasC4 = algorithms.contains(.c4)
        hasXXH64 = algorithms.contains(.xxh64)
        hasXXH3 = algorithms.contains(.xxh3)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if hasSHA256 { sha256.update(bytes) }
        if hasMD5 { md5.update(bytes) }
        if hasSHA1 { sha1.update(bytes) }
        if hasXXH128 { xxh128.update(bytes) }
        if hasC4 { c4.update(bytes) }
        if hasXXH64 { xxh64.update(bytes) }
        if hasXXH3 { xxh3.update(bytes) }
    }

    /// A hole of the file.
    mutating func update(zeroCount: UInt64) {
        var rest = zeroCount
        while rest > 0 {
            let count = min(rest, UInt64(Self.zeros.count))
            Self.zeros.withUnsafeBytes { update(UnsafeRawBufferPointer(rebasing: $0[..<Int(count)])) }
            rest -= count
        }
    }

    /// The digests of the bytes since the last call.
    mutating func finish() -> FileDigests {
        var digests = FileDigests()
        if hasSHA256 { digests.sha256 = sha256.finish() }
        if hasMD5 { digests.md5 = md5.finish() }
        if hasSHA1 { digests.sha1 = sha1.finish() }
        if hasXXH128 { digests.xxh128 = xxh128.finish128() }
        if hasC4 { digests.c4 = c4.finish() }
        if hasXXH64 { digests.xxh64 = xxh64.finish() }
        if hasXXH3 { digests.xxh3 = xxh3.finish64() }
        return digests
    }
}
