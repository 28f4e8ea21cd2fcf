/// A digest of a fixed number of bytes. Each algorithm has its own type, so that an MD5 is never mistaken for the first half of a SHA-256.
public protocol ByteDigest: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The digest's length in bytes.
    static var byteCount: Int { get }

    /// Copies exactly `byteCount` bytes; the caller has checked the length.
    init(exactBytes: UnsafeRawBufferPointer)

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
