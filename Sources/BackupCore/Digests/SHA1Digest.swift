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
