import BackupCore
import COpenSSL

/// Secret bytes: a password, a key. Assignment never copies them, and releasing the last reference wipes them. They are not kept out of swap space.
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

    public var count: Int { storage.count }

    /// - Throws: `inputOutput` when the system returns no random numbers.
    public static func random(count: Int) throws(BackupError) -> SecretBytes {
        try SecretBytes(count: count) { (buffer) throws(BackupError) in try SecureRandom.fill(buffer) }
    }

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
