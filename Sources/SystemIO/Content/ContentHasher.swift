import BackupCore
import CISAL
import COpenSSL
import CZlib
import Synchronization

/// Computes every checksum of a file in one pass over its bytes.
public struct ContentHasher: ~Copyable {
    private var md5 = MD5Hasher()
    private var sha1 = SHA1Hasher()
    private var sha256 = SHA256Hasher()
    private var crc32: UInt32 = 0
    /// Bytes hashed so far.
    public private(set) var byteCount: UInt64 = 0

    public init() {}

    /// The order of the calls counts; a call may have any number of bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5.update(bytes)
        sha1.update(bytes)
        sha256.update(bytes)
        crc32 = CRC32.update(crc32, bytes)
        byteCount += UInt64(bytes.count)
    }

    /// The checksums of all bytes so far; resets the hasher.
    public mutating func finish() -> Checksums {
        defer {
            crc32 = 0
            byteCount = 0
        }
        return Checksums(crc32: crc32, md5: md5.finish(), sha1: sha1.finish(), sha256: sha256.finish())
    }

    public static func hash(_ bytes: [UInt8]) -> Checksums {
        var hasher = ContentHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish()
    }
}

/// Hashes one file while it is being read, beside the thread that reads it.
public protocol ContentHashing: Sendable {
    associatedtype Sums

    /// - Parameter group: its pool does the work; the reader waits for it before it asks for the sums.
    init(_ group: WorkGroup)
    /// Submits the file's next bytes.
    func submit(_ block: BlockPool.Block)
    /// The sums of all bytes; call it once, after waiting for the group.
    func finish() -> Sums
}

/// Computes the CRC-32 of one file and no digest: of bytes that are proved otherwise.
public final class ContentCRC32Lane: ContentHashing {
    // Only one lane uses it; the lock is never contended.
    private let crc32 = Mutex<UInt32>(0)
    private let lane: SerialLane

    public init(_ group: WorkGroup) { lane = SerialLane(group) }

    public func submit(_ block: BlockPool.Block) {
        lane.submit { [self] () throws(BackupError) in crc32.withLock { $0 = CRC32.update($0, block.bytes) } }
    }

    public func finish() -> UInt32 { crc32.withLock { $0 } }
}

/// Computes every checksum of one file on two threads while the file is being read: MD5 on one, the others on the other.
public final class ContentHashLanes: ContentHashing {
    private struct Hashers: ~Copyable {
        var sha1 = SHA1Hasher()
        var sha256 = SHA256Hasher()
        var crc32: UInt32 = 0
    }

    // Each is used by only one lane; the locks are never contended.
    private let md5 = Mutex(MD5Hasher())
    private let others = Mutex(Hashers())
    private let md5Lane: SerialLane
    private let otherLane: SerialLane

    public init(_ group: WorkGroup) {
        md5Lane = SerialLane(group)
        otherLane = SerialLane(group)
    }

    public func submit(_ block: BlockPool.Block) {
        md5Lane.submit { [self] () throws(BackupError) in md5.withLock { $0.update(block.bytes) } }
        otherLane.submit { [self] () throws(BackupError) in
            others.withLock { hashers in
                hashers.sha1.update(block.bytes)
                hashers.sha256.update(block.bytes)
                hashers.crc32 = CRC32.update(hashers.crc32, block.bytes)
            }
        }
    }

    public func finish() -> Checksums {
        let md5 = md5.withLock { $0.finish() }
        return others.withLock { hashers in
            Checksums(crc32: hashers.crc32, md5: md5, sha1: hashers.sha1.finish(), sha256: hashers.sha256.finish())
        }
    }
}

/// Computes one digest over bytes that come in pieces, with OpenSSL, which uses the processor's own instructions.
public struct DigestHasher<Digest: OpenSSLDigest>: ~Copyable {
    private let context: OpaquePointer

    public init() { context = DigestContext.make(Digest.algorithm) }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds bytes to those so far.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) { DigestContext.update(context, bytes) }

    /// The digest of all bytes so far; resets the hasher.
    public mutating func finish() -> Digest {
        let digest: Digest = DigestContext.finish(context)
        DigestContext.restart(context, Digest.algorithm)
        return digest
    }

    public static func hash(_ bytes: UnsafeRawBufferPointer) -> Digest {
        var hasher = DigestHasher()
        hasher.update(bytes)
        return hasher.finish()
    }

    public static func hash(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { hash($0) } }
}

/// Computes an MD5: for programs that compare it, never as a proof of who wrote the bytes.
public typealias MD5Hasher = DigestHasher<MD5Digest>
/// Computes a SHA-1: for programs that compare it, never as a proof of who wrote the bytes.
public typealias SHA1Hasher = DigestHasher<SHA1Digest>
/// Computes a SHA-256, by which the repository names its objects.
public typealias SHA256Hasher = DigestHasher<SHA256Digest>

/// Computes a SHA-512, of which a C4 ID is the text.
public typealias SHA512Hasher = DigestHasher<SHA512Digest>

/// A digest that OpenSSL computes.
public protocol OpenSSLDigest: ByteDigest {
    /// OpenSSL's name of the algorithm.
    static var algorithm: DigestAlgorithm { get }
}

extension MD5Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("MD5")
}

extension SHA1Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("SHA1")
}

extension SHA256Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("SHA256")
}

extension SHA512Digest: OpenSSLDigest {
    public static let algorithm = DigestAlgorithm("SHA512")
}

/// The three calls of OpenSSL's digest interface. They fail only when memory is exhausted or a digest is not built in.
/// Neither can be handled without a risk to data, so they stop the program.
enum DigestContext {
    static func make(_ algorithm: DigestAlgorithm) -> OpaquePointer {
        guard let context = EVP_MD_CTX_new() else { fatalError("OpenSSL could not allocate a digest context") }
        restart(context, algorithm)
        return context
    }

    static func restart(_ context: OpaquePointer, _ algorithm: DigestAlgorithm) {
        guard EVP_DigestInit_ex(context, algorithm.pointer, nil) == 1 else {
            fatalError("OpenSSL lacks a digest this program needs")
        }
    }

    static func update(_ context: OpaquePointer, _ bytes: UnsafeRawBufferPointer) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { fatalError("OpenSSL could not hash") }
    }

    static func finish<Digest: ByteDigest>(_ context: OpaquePointer) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Int(EVP_MAX_MD_SIZE), alignment: 8) { buffer in
            var count: UInt32 = 0
            let address = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard EVP_DigestFinal_ex(context, address, &count) == 1, Int(count) == Digest.byteCount else {
                fatalError("OpenSSL could not finish a digest")
            }
            return Digest(exactBytes: UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]))
        }
    }
}

/// An algorithm that is fetched once: OpenSSL 3 searches its providers at every use of `EVP_sha256()` and similar calls, which
/// costs more than hashing a small file.
///
/// `@unchecked Sendable`: OpenSSL never changes an object that it has returned (EVP_MD_fetch(3)).
public final class DigestAlgorithm: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ name: String) {
        guard let pointer = EVP_MD_fetch(nil, name, nil) else { fatalError("OpenSSL lacks a digest this program needs: \(name)") }
        self.pointer = pointer
    }

    deinit { EVP_MD_free(pointer) }
}

/// CRC-32 as ZIP and gzip use it.
public enum CRC32 {
    /// Continues `crc` (0 at the start) over `bytes`. ISA-L runs at 35 GB/s, zlib at 4.
    public static func update(_ crc: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = bytes.baseAddress else { return crc }
        return crc32_gzip_refl(crc, base.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// The CRC-32 of the bytes alone.
    public static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 { update(0, bytes) }

    /// The CRC-32 of the bytes alone.
    public static func of(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { of($0) } }

    /// The CRC of two consecutive runs of bytes, computed from their CRCs without the bytes.
    /// - Parameter secondLength: length of the second run in bytes.
    public static func combine(_ first: UInt32, _ second: UInt32, secondLength: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: crc32_combine(UInt(first), UInt(second), Int(secondLength)))
    }
}
