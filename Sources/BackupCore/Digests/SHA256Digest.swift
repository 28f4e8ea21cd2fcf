/// A SHA-256 digest (32 bytes).
public struct SHA256Digest: ByteDigest {
    public static let byteCount = 32

    private var storage: InlineArray<32, UInt8>

    public init(exactBytes: UnsafeRawBufferPointer) {
        precondition(exactBytes.count == Self.byteCount, "a SHA-256 digest has 32 bytes")
        storage = InlineArray { exactBytes[$0] }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage, body)
    }
}
