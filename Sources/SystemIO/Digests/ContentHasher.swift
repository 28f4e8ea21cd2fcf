import BackupCore

/// Computes every checksum of a file in one pass over its bytes.
public struct ContentHasher: ~Copyable {
    private var md5 = MD5Hasher()
    private var sha1 = SHA1Hasher()
    private var sha256 = SHA256Hasher()
    private var crc32: UInt32 = 0
    /// Bytes hashed so far.
    public private(set) var byteCount: UInt64 = 0

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5.update(bytes)
        sha1.update(bytes)
        sha256.update(bytes)
        crc32 = CRC32.update(crc32, bytes)
        byteCount += UInt64(bytes.count)
    }

    /// The checksums of all bytes so far; resets the hasher.
    public mutating func finish() -> Checksums {
        defer {
            crc32 = 0
            byteCount = 0
        }
        return Checksums(crc32: crc32, md5: md5.finish(), sha1: sha1.finish(), sha256: sha256.finish())
    }

    public static func hash(_ bytes: [UInt8]) -> Checksums {
        var hasher = ContentHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish()
    }
}
