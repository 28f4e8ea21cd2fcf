import BackupCore

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
