import BackupCore
import COpenSSL

/// Computes one digest over bytes that come in pieces, with OpenSSL, which uses the processor's own instructions.
public struct DigestHasher<Digest: OpenSSLDigest>: ~Copyable {
    private let context: OpaquePointer

    public init() { context = DigestContext.make(Digest.algorithm) }

    deinit { EVP_MD_CTX_free(context) }

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { DigestContext.update(context, bytes) }

    /// The digest of all bytes so far; resets the hasher.
    public mutating func finish() -> Digest {
        let digest: Digest = DigestContext.finish(context)
        DigestContext.restart(context, Digest.algorithm)
        return digest
    }

    public static func hash(_ bytes: UnsafeRawBufferPointer) -> Digest {
        var hasher = DigestHasher()
        hasher.update(bytes)
        return hasher.finish()
    }

    public static func hash(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { hash($0) } }
}

public typealias MD5Hasher = DigestHasher<MD5Digest>
public typealias SHA1Hasher = DigestHasher<SHA1Digest>
public typealias SHA256Hasher = DigestHasher<SHA256Digest>

/// A digest that OpenSSL computes.
public protocol OpenSSLDigest: ByteDigest {
    /// OpenSSL's name of the algorithm.
    static var algorithm: DigestAlgorithm { get }
}

extension MD5Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("MD5")
}

extension SHA1Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("SHA1")
}

extension SHA256Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("SHA256")
}
