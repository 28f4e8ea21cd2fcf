import BackupCore
import COpenSSL

/// AES-256 in Galois/counter mode (NIST SP 800-38D): encrypts bytes and detects any change to them.
///
/// Sealed bytes are a 12-byte nonce, the ciphertext (as long as the plaintext), and a 16-byte tag. They do not contain the
/// associated data: the caller must pass the same data to open them.
public enum AESGCM {
    /// Length of a key: 256 bits.
    public static let keyByteCount = 32
    /// Length of the nonce before the ciphertext.
    public static let nonceByteCount = 12
    /// Length of the tag after the ciphertext.
    public static let tagByteCount = 16
    /// The number of bytes that sealing adds.
    public static let overheadByteCount = nonceByteCount + tagByteCount

    /// Seals under a random nonce. One key must not seal more than 2^32 times: beyond that a nonce collision becomes too likely.
    /// - Parameter output: `plain.count + overheadByteCount` bytes that do not overlap `plain`.
    /// - Throws: `inputOutput` when the system returns no random numbers.
    public static func seal(
        _ plain: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        try SecureRandom.fill(UnsafeMutableRawBufferPointer(rebasing: output[..<nonceByteCount]))
        sealUnderGivenNonce(plain, key: key, associatedData: associatedData, into: output)
    }

    /// Like `seal`, with the nonce already in `output`.
    static func sealUnderGivenNonce(
        _ plain: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(
            key.count == keyByteCount && output.count == plain.count + overheadByteCount, "a buffer has the wrong length")
        let nonce = bytes(output)
        let body = nonce?.advanced(by: nonceByteCount)
        let tag = body?.advanced(by: plain.count)
        withContext { context in
            var count: Int32 = 0
            return EVP_EncryptInit_ex(context, CipherAlgorithm.aes256GCM.pointer, nil, bytes(key), nonce) == 1
                && EVP_EncryptUpdate(context, nil, &count, bytes(associatedData), Int32(associatedData.count)) == 1
                && (plain.isEmpty || EVP_EncryptUpdate(context, body, &count, bytes(plain), Int32(plain.count)) == 1)
                && EVP_EncryptFinal_ex(context, tag, &count) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount), tag) == 1
        }
    }

    /// Opens the output of `seal`.
    /// - Parameter output: `sealed.count - overheadByteCount` bytes that do not overlap `sealed`.
    /// - Returns: whether the bytes were sealed with this key and associated data. If not, `output` is zeroed.
    public static func open(
        _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        precondition(sealed.count == output.count + overheadByteCount, "a buffer has the wrong length")
        let end = sealed.count - tagByteCount
        return open(
            UnsafeRawBufferPointer(rebasing: sealed[nonceByteCount..<end]),
            nonce: UnsafeRawBufferPointer(rebasing: sealed[..<nonceByteCount]),
            tag: UnsafeRawBufferPointer(rebasing: sealed[end...]), key: key, associatedData: associatedData, into: output)
    }

    /// The same, with the parts in different places.
    /// - Parameter output: as long as `body`; it may be the same memory, but must not overlap it otherwise.
    public static func open(
        _ body: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
        associatedData: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        precondition(
            key.count == keyByteCount && nonce.count == nonceByteCount && tag.count == tagByteCount && body.count == output.count,
            "a buffer has the wrong length")
        var isGenuine = false
        withContext { context in
            var count: Int32 = 0
            guard EVP_DecryptInit_ex(context, CipherAlgorithm.aes256GCM.pointer, nil, bytes(key), bytes(nonce)) == 1,
                EVP_DecryptUpdate(context, nil, &count, bytes(associatedData), Int32(associatedData.count)) == 1,
                output.isEmpty || EVP_DecryptUpdate(context, bytes(output), &count, bytes(body), Int32(output.count)) == 1,
                // OpenSSL only reads the tag.
                EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), UnsafeMutableRawPointer(mutating: tag.baseAddress)) == 1
            else { return false }
            isGenuine = EVP_DecryptFinal_ex(context, nil, &count) == 1
            return true
        }
        // OpenSSL writes the plaintext before it checks the tag: no caller may see bytes that were not sealed.
        if !isGenuine { SecretBytes.wipe(output) }
        return isGenuine
    }

    /// Fails only when memory is exhausted or AES is not built in; as with digests, there is no safe way to continue.
    private static func withContext(_ body: (OpaquePointer) -> Bool) {
        guard let context = EVP_CIPHER_CTX_new() else { fatalError("OpenSSL could not allocate a cipher context") }
        defer { EVP_CIPHER_CTX_free(context) }
        guard body(context) else { fatalError("OpenSSL could not encrypt or decrypt") }
    }

    private static func bytes(_ buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        precondition(buffer.count <= Int32.max, "OpenSSL takes up to 2 GiB at once")
        return buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    private static func bytes(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
        precondition(buffer.count <= Int32.max, "OpenSSL takes up to 2 GiB at once")
        return buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}

/// A cipher that is fetched once, for the reason given in `DigestAlgorithm`.
///
/// `@unchecked Sendable`: OpenSSL never changes an object that it has returned (EVP_CIPHER_fetch(3)).
final class CipherAlgorithm: @unchecked Sendable {
    static let aes256GCM = CipherAlgorithm("AES-256-GCM")

    let pointer: OpaquePointer

    private init(_ name: String) {
        guard let pointer = EVP_CIPHER_fetch(nil, name, nil) else {
            fatalError("OpenSSL lacks a cipher this program needs: \(name)")
        }
        self.pointer = pointer
    }

    deinit { EVP_CIPHER_free(pointer) }
}
