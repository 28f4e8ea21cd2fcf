import BackupCore
import COpenSSL

/// SHA-256 through OpenSSL, which uses the processor's own instructions for it.
public struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer

    public init() { context = DigestContext.make(EVP_sha256()) }

    deinit { EVP_MD_CTX_free(context) }

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { DigestContext.update(context, bytes) }

    /// The digest of all bytes so far; the hasher starts again from nothing.
    public mutating func finish() -> SHA256Digest {
        let digest: SHA256Digest = DigestContext.finish(context)
        DigestContext.restart(context, EVP_sha256())
        return digest
    }

    public static func hash(_ bytes: UnsafeRawBufferPointer) -> SHA256Digest {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        return hasher.finish()
    }

    public static func hash(_ bytes: [UInt8]) -> SHA256Digest { bytes.withUnsafeBytes { hash($0) } }
}
