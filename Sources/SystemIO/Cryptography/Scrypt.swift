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

    /// Whether the parameters are safe to compute with: at most 1 GiB of memory and 128 times the work of the standard ones. They come from a file that
    /// anyone may have changed.
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
