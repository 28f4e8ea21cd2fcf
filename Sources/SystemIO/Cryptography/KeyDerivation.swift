import BackupCore
import COpenSSL

/// scrypt (RFC 7914): derives a key from a password at a cost that makes guessing passwords expensive.
public struct Scrypt: Hashable, Sendable {
    /// The cost N is 2 to this power.
    public let costExponent: Int
    /// The block size r. One computation takes 128 · N · r bytes of memory.
    public let blockSize: Int
    /// The parallelization p.
    public let parallelization: Int

    /// 128 MiB, and about half a second.
    public static let standard = Scrypt(costExponent: 17, blockSize: 8, parallelization: 1)

    public init(costExponent: Int, blockSize: Int, parallelization: Int) {
        self.costExponent = costExponent
        self.blockSize = blockSize
        self.parallelization = parallelization
    }

    /// Whether the parameters are safe to compute with: at most 1 GiB of memory and 128 times the work of the standard ones. They
    /// come from a file that anyone may have changed.
    public var isAcceptable: Bool {
        guard (10...20).contains(costExponent), (1...32).contains(blockSize), (1...16).contains(parallelization) else {
            return false
        }
        let memoryBytes = 128 * blockSize << costExponent
        return memoryBytes <= 1 << 30
    }

    /// - Parameter count: length of the key in bytes.
    /// - Throws: `inputOutput` when there is not enough memory; `invalidArgument` for parameters that scrypt rejects.
    public func deriveKey(from password: SecretBytes, salt: [UInt8], count: Int) throws(BackupError) -> SecretBytes {
        // Computed like OpenSSL's own estimate, so that its default limit of 32 MiB does not apply.
        let memoryLimit = UInt64(128 * blockSize) * ((1 << UInt64(costExponent)) + UInt64(parallelization) + 2)
        return try SecretBytes(count: count) { (output) throws(BackupError) in
            let isDone = password.withUnsafeBytes { password in
                salt.withUnsafeBytes { salt in
                    EVP_PBE_scrypt(
                        password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count,
                        salt.baseAddress?.assumingMemoryBound(to: UInt8.self), salt.count, 1 << UInt64(costExponent),
                        UInt64(blockSize), UInt64(parallelization), memoryLimit,
                        output.baseAddress?.assumingMemoryBound(to: UInt8.self), output.count)
                }
            }
            guard isDone == 1 else {
                throw BackupError(
                    .inputOutput, "the password's key could not be computed: that takes \(memoryLimit >> 20) MiB of memory",
                    remedy: "Close other programs, or give this one more memory, and try again.")
            }
        }
    }
}

/// HKDF with SHA-256 (RFC 5869): several independent keys from one.
public enum HKDF {
    /// The pseudorandom key for `expand`, from a secret and a salt that need not be secret.
    public static func extract(_ secret: SecretBytes, salt: [UInt8]) throws(BackupError) -> SecretBytes {
        try SecretBytes(count: SHA256Digest.byteCount) { (output) throws(BackupError) in
            secret.withUnsafeBytes { secret in
                salt.withUnsafeBytes { HMACSHA256.authenticate(secret, key: $0, into: output) }
            }
        }
    }

    /// - Parameters:
    ///   - info: the purpose of the key: different values give independent keys.
    ///   - count: length of the result in bytes, 1 to 8,160.
    public static func expand(_ key: SecretBytes, info: [UInt8], count: Int) throws(BackupError) -> SecretBytes {
        let block = SHA256Digest.byteCount
        precondition((1...255 * block).contains(count), "HKDF gives at most 255 blocks")
        return try SecretBytes(count: count) { (output) throws(BackupError) in
            // Previous block, info, counter; wiped, since a block is part of the result.
            let message = UnsafeMutableRawBufferPointer.allocate(byteCount: block + info.count + 1, alignment: 8)
            let current = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 8)
            defer {
                for buffer in [message, current] {
                    SecretBytes.wipe(buffer)
                    buffer.deallocate()
                }
            }
            UnsafeMutableRawBufferPointer(rebasing: message[block...]).copyBytes(from: info)
            var position = 0
            var number: UInt8 = 1
            while position < count {
                message[message.count - 1] = number
                // The first block has no previous one.
                let input = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(message)[(number == 1 ? block : 0)...])
                key.withUnsafeBytes { HMACSHA256.authenticate(input, key: $0, into: current) }
                let part = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(current)[..<min(block, count - position)])
                UnsafeMutableRawBufferPointer(rebasing: output[position...]).copyMemory(from: part)
                message.copyMemory(from: UnsafeRawBufferPointer(current))
                position += part.count
                number &+= 1
            }
        }
    }
}

/// HMAC-SHA-256 (RFC 2104), built from two digests: OpenSSL 3 searches its providers again for each HMAC, which takes longer than
/// computing one over a short text.
public enum HMACSHA256 {
    private static let blockByteCount = 64

    /// The code of `message`; the key may have any length.
    public static func authenticate(_ message: UnsafeRawBufferPointer, key: SecretBytes) -> SHA256Digest {
        key.withUnsafeBytes { authenticate(message, key: $0) }
    }

    /// The code of `message`; the key may have any length.
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
