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
