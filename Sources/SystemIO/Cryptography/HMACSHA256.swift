import BackupCore
import COpenSSL

/// HMAC-SHA-256 (RFC 2104).
public enum HMACSHA256 {
    public static func authenticate(_ message: UnsafeRawBufferPointer, key: SecretBytes) -> SHA256Digest {
        withUnsafeTemporaryAllocation(byteCount: SHA256Digest.byteCount, alignment: 8) { output in
            key.withUnsafeBytes { authenticate(message, key: $0, into: output) }
            return SHA256Digest(exactBytes: UnsafeRawBufferPointer(output))
        }
    }

    public static func authenticate(_ message: [UInt8], key: SecretBytes) -> SHA256Digest {
        message.withUnsafeBytes { authenticate($0, key: key) }
    }

    /// - Parameter output: 32 bytes.
    public static func authenticate(
        _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(output.count == SHA256Digest.byteCount, "an HMAC-SHA-256 has 32 bytes")
        var count: UInt32 = 0
        // It fails when memory is exhausted or SHA-256 is not built in; as with digests, there is no safe way on.
        guard
            HMAC(
                EVP_sha256(), key.baseAddress, Int32(key.count), message.baseAddress?.assumingMemoryBound(to: UInt8.self),
                message.count, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &count) != nil,
            Int(count) == output.count
        else { fatalError("OpenSSL could not compute an HMAC") }
    }
}
