import BackupCore
import COpenSSL

/// Unpredictable random bytes from OpenSSL's generator, which the system's generator seeds.
public enum SecureRandom {
    /// - Throws: `inputOutput` when the system returns none; do not use the buffer then.
    public static func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(BackupError) {
        guard buffer.count > 0 else { return }
        guard RAND_bytes(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(buffer.count)) == 1 else {
            throw BackupError(
                .inputOutput, "the system gives no random numbers, without which nothing can be encrypted",
                remedy: "Check that /dev/urandom is there.")
        }
    }

    public static func bytes(count: Int) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in try fill(buffer) }
        return bytes
    }
}
