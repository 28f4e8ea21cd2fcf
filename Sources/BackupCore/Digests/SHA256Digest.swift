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
