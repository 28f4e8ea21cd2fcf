/// Every checksum of one file's plain bytes. All are computed in the one pass that reads the file, so that no later query has to read it again.
public struct Checksums: Hashable, Sendable {
    /// CRC-32 as ZIP and gzip use it (polynomial 0xEDB88320, reflected).
    public let crc32: UInt32
    public let md5: MD5Digest
    public let sha1: SHA1Digest
    public let sha256: SHA256Digest

    public init(crc32: UInt32, md5: MD5Digest, sha1: SHA1Digest, sha256: SHA256Digest) {
        self.crc32 = crc32
        self.md5 = md5
        self.sha1 = sha1
        self.sha256 = sha256
    }

    /// Eight lower-case hexadecimal digits, most significant first, as `crc32` and `unzip -v` print it.
    public var crc32Hexadecimal: String {
        Hexadecimal.encode(withUnsafeBytes(of: crc32.bigEndian) { Array($0) })
    }
}
