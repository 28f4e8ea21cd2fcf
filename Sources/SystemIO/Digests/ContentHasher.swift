import BackupCore
import COpenSSL

/// Takes every checksum of a file in one pass over its bytes.
public struct ContentHasher: ~Copyable {
    private let md5: OpaquePointer
    private let sha1: OpaquePointer
    private let sha256: OpaquePointer
    private var crc32: UInt32 = 0
    /// Bytes hashed so far.
    public private(set) var byteCount: UInt64 = 0

    public init() {
        md5 = DigestContext.make(EVP_md5())
        sha1 = DigestContext.make(EVP_sha1())
        sha256 = DigestContext.make(EVP_sha256())
    }

    deinit {
        EVP_MD_CTX_free(md5)
        EVP_MD_CTX_free(sha1)
        EVP_MD_CTX_free(sha256)
    }

    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        DigestContext.update(md5, bytes)
        DigestContext.update(sha1, bytes)
        DigestContext.update(sha256, bytes)
        crc32 = CRC32.update(crc32, bytes)
        byteCount += UInt64(bytes.count)
    }

    /// The checksums of all bytes given; call it once.
    public consuming func finish() -> Checksums {
        Checksums(
            crc32: crc32, md5: DigestContext.finish(md5), sha1: DigestContext.finish(sha1),
            sha256: DigestContext.finish(sha256))
    }

    public static func hash(_ bytes: [UInt8]) -> Checksums {
        var hasher = ContentHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish()
    }
}
