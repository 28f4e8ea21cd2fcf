import BackupCore
import SystemIO

/// The digests of a file that its verification compares; those that it does not compare are `nil`.
struct FileDigests: Sendable, Equatable {
    var sha256: SHA256Digest?
    var md5: MD5Digest?
    var sha1: SHA1Digest?

    /// These digests, and those of `other` that are missing here.
    func filled(from other: FileDigests) -> FileDigests {
        FileDigests(sha256: sha256 ?? other.sha256, md5: md5 ?? other.md5, sha1: sha1 ?? other.sha1)
    }
}

/// Computes the digests of one file after another.
struct FileDigester: ~Copyable {
    private static let zeros = [UInt8](repeating: 0, count: 1 << 16)

    private let hasSHA256: Bool
    private let hasMD5: Bool
    private let hasSHA1: Bool
    private var sha256 = SHA256Hasher()
    private var md5 = MD5Hasher()
    private var sha1 = SHA1Hasher()

    init(sha256: Bool, md5: Bool, sha1: Bool) { (hasSHA256, hasMD5, hasSHA1) = (sha256, md5, sha1) }

    /// All digests of a mode.
    init(_ mode: VerificationMode) { self.init(sha256: mode.hashesSHA256, md5: mode.hashesMD5, sha1: mode.hashesSHA1) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if hasSHA256 { sha256.update(bytes) }
        if hasMD5 { md5.update(bytes) }
        if hasSHA1 { sha1.update(bytes) }
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
        FileDigests(
            sha256: hasSHA256 ? sha256.finish() : nil, md5: hasMD5 ? md5.finish() : nil, sha1: hasSHA1 ? sha1.finish() : nil)
    }
}
