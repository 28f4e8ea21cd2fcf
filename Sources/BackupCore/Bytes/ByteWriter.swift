/// Builds the repository's binary structures: little-endian integers and length-prefixed bytes.
public struct ByteWriter: Sendable {
    @usableFromInline var storage: [UInt8] = []
    public var bytes: [UInt8] { storage }

    public init() {}

    @inlinable
    public mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { storage.append(contentsOf: $0) }
    }

    public mutating func append(_ digest: some ByteDigest) {
        digest.withUnsafeBytes { storage.append(contentsOf: $0) }
    }

    public mutating func append(raw: some Collection<UInt8>) { storage.append(contentsOf: raw) }

    /// A 32-bit length, followed by the bytes.
    public mutating func append(lengthPrefixed value: some Collection<UInt8>) {
        append(UInt32(value.count))
        storage.append(contentsOf: value)
    }

    public mutating func append(_ text: String) { append(lengthPrefixed: text.utf8) }

    public mutating func append(_ time: Timestamp) {
        append(time.seconds)
        append(time.nanoseconds)
    }
}
