/// A digest of a fixed number of bytes. Each algorithm has its own type, so that an MD5 is never mistaken for the first half of a
/// SHA-256.
public protocol ByteDigest: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The digest's length in bytes.
    static var byteCount: Int { get }

    /// Copies exactly `byteCount` bytes; the caller has checked the length.
    init(exactBytes: UnsafeRawBufferPointer)

    /// Calls `body` with exactly `byteCount` bytes, which are valid only during the call.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension ByteDigest {
    /// - Returns: `nil` unless `bytes` has exactly `byteCount` bytes.
    public init?(bytes: some Collection<UInt8>) {
        let array = Array(bytes)
        guard array.count == Self.byteCount else { return nil }
        self = array.withUnsafeBytes { Self(exactBytes: $0) }
    }

    /// - Returns: `nil` unless `hexadecimal` is exactly `byteCount` bytes in hexadecimal digits.
    public init?(hexadecimal: some StringProtocol) {
        guard let bytes = Hexadecimal.decode(hexadecimal.utf8) else { return nil }
        self.init(bytes: bytes)
    }

    /// A copy of the `byteCount` bytes.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// Lower-case hexadecimal digits, as checksum programs print them.
    public var hexadecimal: String { withUnsafeBytes { Hexadecimal.encode($0) } }

    public var description: String { hexadecimal }

    public static func == (left: Self, right: Self) -> Bool {
        left.withUnsafeBytes { leftBytes in right.withUnsafeBytes { leftBytes.elementsEqual($0) } }
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.withUnsafeBytes { leftBytes in right.withUnsafeBytes { leftBytes.lexicographicallyPrecedes($0) } }
    }

    /// A digest is already evenly distributed: its first eight bytes suffice as a hash.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
    }
}

/// A SHA-256 digest (32 bytes).
public struct SHA256Digest: ByteDigest {
    public static let byteCount = 32

    private var storage: InlineArray<32, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a SHA-256 digest has 32 bytes")
        storage = InlineArray(repeating: 0)
        Swift.withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: exactBytes) }
    }

    // By words: hundreds of thousands of chunk names are compared and sorted.
    public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    public static func < (left: Self, right: Self) -> Bool {
        let (one, other) = (left.words, right.words)
        return (one.0.bigEndian, one.1.bigEndian, one.2.bigEndian, one.3.bigEndian)
            < (other.0.bigEndian, other.1.bigEndian, other.2.bigEndian, other.3.bigEndian)
    }

    private var words: (UInt64, UInt64, UInt64, UInt64) {
        withUnsafeBytes { bytes in
            func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
            return (word(0), word(1), word(2), word(3))
        }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}

/// A SHA-1 digest (20 bytes).
public struct SHA1Digest: ByteDigest {
    public static let byteCount = 20

    private var storage: InlineArray<20, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a SHA-1 digest has 20 bytes")
        storage = InlineArray { exactBytes[$0] }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}

/// A MD5 digest (16 bytes).
public struct MD5Digest: ByteDigest {
    public static let byteCount = 16

    private var storage: InlineArray<16, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a MD5 digest has 16 bytes")
        storage = InlineArray { exactBytes[$0] }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}

/// A SHA-512 digest (64 bytes).
public struct SHA512Digest: ByteDigest {
    public static let byteCount = 64

    private var storage: InlineArray<64, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a digest of this kind has 64 bytes")
        storage = InlineArray { exactBytes[$0] }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}

/// An XXH3 digest of 128 bits, in the canonical order of its bytes.
public struct XXH128Digest: ByteDigest {
    public static let byteCount = 16

    private var storage: InlineArray<16, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a digest of this kind has 16 bytes")
        storage = InlineArray { exactBytes[$0] }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}

/// A digest of 64 bits of XXH3 or XXH64, in the canonical order of its bytes.
public struct XXH64Digest: ByteDigest {
    public static let byteCount = 8

    private var storage: InlineArray<8, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a digest of this kind has 8 bytes")
        storage = InlineArray { exactBytes[$0] }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}

/// Every checksum of one file's plain bytes. All are computed in the one pass that reads the file, so that no later query has to
/// read it again.
public struct Checksums: Hashable, Sendable {
    /// CRC-32 as ZIP and gzip use it (polynomial 0xEDB88320, reflected).
    public let crc32: UInt32
    public let md5: MD5Digest
    public let sha1: SHA1Digest
    public let sha256: SHA256Digest

    public init(crc32: UInt32, md5: MD5Digest, sha1: SHA1Digest, sha256: SHA256Digest) {
        self.crc32 = crc32
        self.md5 = md5
        self.sha1 = sha1
        self.sha256 = sha256
    }

    /// Eight lower-case hexadecimal digits, most significant first, as `crc32` and `unzip -v` print it.
    public var crc32Hexadecimal: String {
        Hexadecimal.encode(withUnsafeBytes(of: crc32.bigEndian) { Array($0) })
    }
}

/// The name of an object in the repository: a SHA-256. Each kind has its own type, so that a pack's name is never taken for a
/// chunk's.
public protocol ContentID: Hashable, Comparable, Sendable, CustomStringConvertible {
    var digest: SHA256Digest { get }

    /// Does not check that there is an object of this name.
    init(_ digest: SHA256Digest)
}

extension ContentID {
    /// - Returns: `nil` unless `hexadecimal` is 64 hexadecimal digits.
    public init?(hexadecimal: some StringProtocol) {
        guard let digest = SHA256Digest(hexadecimal: hexadecimal) else { return nil }
        self.init(digest)
    }

    /// 64 lower-case digits.
    public var hexadecimal: String { digest.hexadecimal }
    public var description: String { hexadecimal }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

/// The name of a chunk: the SHA-256 of its plain bytes.
public struct ChunkID: ContentID {
    public let digest: SHA256Digest

    public init(_ digest: SHA256Digest) { self.digest = digest }
}

/// The name of a pack: the SHA-256 of its index, which names every chunk in it and so determines its content.
public struct PackID: ContentID {
    public let digest: SHA256Digest

    public init(_ digest: SHA256Digest) { self.digest = digest }
}

/// The name of a snapshot: the SHA-256 of its snapshot record.
public struct SnapshotID: ContentID {
    public let digest: SHA256Digest

    public init(_ digest: SHA256Digest) { self.digest = digest }
}
