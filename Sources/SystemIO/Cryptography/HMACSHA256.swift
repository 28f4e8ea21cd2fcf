import BackupCore

/// HMAC-SHA-256 (RFC 2104), built from two digests: OpenSSL 3 searches its providers again for each HMAC, which takes longer than computing one
/// over a short text.
public enum HMACSHA256 {
    private static let blockByteCount = 64

    public static func authenticate(_ message: UnsafeRawBufferPointer, key: SecretBytes) -> SHA256Digest {
        key.withUnsafeBytes { authenticate(message, key: $0) }
    }

    public static func authenticate(_ message: [UInt8], key: SecretBytes) -> SHA256Digest {
        message.withUnsafeBytes { authenticate($0, key: key) }
    }

    /// - Parameter output: 32 bytes.
    public static func authenticate(
        _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) {
        authenticate(message, key: key).withUnsafeBytes { output.copyMemory(from: $0) }
    }

    private static func authenticate(_ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> SHA256Digest {
        withUnsafeTemporaryAllocation(byteCount: blockByteCount, alignment: 8) { block in
            defer { SecretBytes.wipe(block) }
            block.initializeMemory(as: UInt8.self, repeating: 0)
            if key.count > block.count {
                SHA256Hasher.hash(key).withUnsafeBytes { block.copyMemory(from: $0) }
            } else {
                block.copyMemory(from: key)
            }
            var hasher = SHA256Hasher()
            for index in block.indices { block[index] ^= 0x36 }
            hasher.update(UnsafeRawBufferPointer(block))
            hasher.update(message)
            let inner = hasher.finish()
            for index in block.indices { block[index] ^= 0x36 ^ 0x5c }
            hasher.update(UnsafeRawBufferPointer(block))
            inner.withUnsafeBytes { hasher.update($0) }
            return hasher.finish()
        }
    }
}
