import BackupCore
import CLinux
import COpenSSL
import Glibc

/// Secret bytes: a password, a key. Assignment never copies them, and releasing the last reference wipes them. They are not kept
/// out of swap space.
///
/// `@unchecked Sendable`: only `init` writes the bytes, before other code can see them.
public final class SecretBytes: @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// - Parameter fill: writes the bytes, which start as zeros; they are wiped even if it throws.
    public init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(BackupError) -> Void) throws(BackupError) {
        storage = .allocate(byteCount: count, alignment: 16)
        storage.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(storage)
    }

    /// A copy; the owner of the original wipes it.
    public init(copying bytes: UnsafeRawBufferPointer) {
        storage = .allocate(byteCount: bytes.count, alignment: 16)
        storage.copyMemory(from: bytes)
    }

    deinit {
        Self.wipe(storage)
        storage.deallocate()
    }

    /// In bytes.
    public var count: Int { storage.count }

    /// - Throws: `inputOutput` when the system returns no random numbers.
    public static func random(count: Int) throws(BackupError) -> SecretBytes {
        try SecretBytes(count: count) { (buffer) throws(BackupError) in try SecureRandom.fill(buffer) }
    }

    /// The pointer is valid only during the call; copies that `body` makes are not wiped.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(storage))
    }

    /// Whether both hold the same bytes, compared in constant time.
    public func isEqual(to other: SecretBytes) -> Bool {
        count == other.count && (count == 0 || CRYPTO_memcmp(storage.baseAddress, other.storage.baseAddress, count) == 0)
    }

    /// Overwrites bytes in a way that the compiler does not optimize away.
    public static func wipe(_ buffer: UnsafeMutableRawBufferPointer) { OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
}

/// Unpredictable random bytes from OpenSSL's generator, which the system's generator seeds.
public enum SecureRandom {
    /// - Throws: `inputOutput` when the system returns none; do not use the buffer then.
    public static func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(BackupError) {
        guard buffer.count > 0 else { return }
        guard RAND_bytes(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(buffer.count)) == 1 else {
            throw BackupError(
                .inputOutput, "the system gives no random numbers, without which nothing can be encrypted",
                remedy: "Check that /dev/urandom exists.")
        }
    }

    /// - Throws: `inputOutput` when the system returns no random numbers.
    public static func bytes(count: Int) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in try fill(buffer) }
        return bytes
    }
}

/// Keeps a process's memory from other processes of the same user, and from the disk.
public enum ProcessSecrecy {
    /// Call it before a password or a key enters memory. From then on the kernel writes no core file of this process, with any
    /// collection mechanism. Only root may read its memory, trace it, or read its `/proc/PID/environ` and `/proc/PID/fd`.
    ///
    /// `madvise(MADV_DONTDUMP)` on the keys alone would not be enough: the ciphers derive their own tables from them, in
    /// OpenSSL's memory. A child program can be inspected again until it calls this itself.
    ///
    /// A crash report shows no memory either: where a Swift toolchain is installed, the runtime would otherwise write the memory
    /// that registers point at to standard error, which is a mount's log.
    public static func begin() {
        // Neither can fail for the calling process.
        _ = backupfs_forbid_dumps()
        _ = backupfs_forbid_core_files()
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    }
}
