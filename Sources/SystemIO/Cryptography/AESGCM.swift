import BackupCore
import COpenSSL

/// AES-256 in Galois/counter mode (NIST SP 800-38D): hides bytes, and tells whether anybody changed them.
///
/// Sealed bytes are a nonce of 12 bytes, as many bytes as were sealed, and a tag of 16 bytes. The associated data is not in them: it has to be the
/// same when they are opened.
public enum AESGCM {
    public static let keyByteCount = 32
    public static let nonceByteCount = 12
    public static let tagByteCount = 16
    /// How much longer sealed bytes are.
    public static let overheadByteCount = nonceByteCount + tagByteCount

    /// Seals under a random nonce. One key must not seal more than 2^32 times: beyond that two equal nonces get too likely.
    /// - Parameter output: `plain.count + overheadByteCount` bytes that do not overlap `plain`.
    /// - Throws: `inputOutput` when the system gives no random numbers.
    public static func seal(
        _ plain: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        try SecureRandom.fill(UnsafeMutableRawBufferPointer(rebasing: output[..<nonceByteCount]))
        sealUnderGivenNonce(plain, key: key, associatedData: associatedData, into: output)
    }

    /// As `seal`; the nonce stands in `output` already.
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

    /// Opens what `seal` made.
    /// - Parameter output: `sealed.count - overheadByteCount` bytes that do not overlap `sealed`.
    /// - Returns: whether these are the bytes that were sealed, with this key and associated data. If not, `output` is zero.
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

    /// The same, with the parts of what `seal` made in different places.
    /// - Parameter output: as long as `body`; it may be the same memory, but not overlap it otherwise.
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
                // It only reads the tag.
                EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), UnsafeMutableRawPointer(mutating: tag.baseAddress)) == 1
            else { return false }
            isGenuine = EVP_DecryptFinal_ex(context, nil, &count) == 1
            return true
        }
        // The bytes came before the verdict: nobody shall see what was not sealed.
        if !isGenuine { SecretBytes.wipe(output) }
        return isGenuine
    }

    /// It fails when memory is exhausted or AES is not built in; as with digests, there is no safe way on.
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
