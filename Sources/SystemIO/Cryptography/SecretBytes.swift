import BackupCore
import COpenSSL

/// Bytes that are nobody else's business: a password, a key. They are never copied by assignment, and are wiped when the last reference
/// goes. They are not kept out of swap space.
///
/// `@unchecked Sendable`: the bytes are written in `init` only, before anybody else can see them.
public final class SecretBytes: @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// - Parameter fill: writes the bytes, which are zero before; whatever it throws, they are wiped.
    public init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(BackupError) -> Void) throws(BackupError) {
        storage = .allocate(byteCount: count, alignment: 16)
        storage.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(storage)
    }

    /// A copy; whoever holds the original wipes it.
    public init(copying bytes: UnsafeRawBufferPointer) {
        storage = .allocate(byteCount: bytes.count, alignment: 16)
        storage.copyMemory(from: bytes)
    }

    deinit {
        Self.wipe(storage)
        storage.deallocate()
    }

    public var count: Int { storage.count }

    /// - Throws: `inputOutput` when the system gives no random numbers.
    public static func random(count: Int) throws(BackupError) -> SecretBytes {
        try SecretBytes(count: count) { (buffer) throws(BackupError) in try SecureRandom.fill(buffer) }
    }

    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(storage))
    }

    /// Whether both hold the same bytes; how long that takes tells nothing about where they differ.
    public func isEqual(to other: SecretBytes) -> Bool {
        count == other.count && (count == 0 || CRYPTO_memcmp(storage.baseAddress, other.storage.baseAddress, count) == 0)
    }

    /// Overwrites bytes in a way that the compiler does not leave out.
    public static func wipe(_ buffer: UnsafeMutableRawBufferPointer) { OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
}
