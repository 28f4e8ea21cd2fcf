/// Reads the repository's binary structures. Checks every length against the remaining bytes before it allocates memory: the bytes may be damaged or hostile.
///
/// Generic functions are inlinable: the other modules read a million numbers of a large backup, and each is ten times as fast when specialized.
public struct ByteReader: Sendable {
    @usableFromInline let bytes: ArraySlice<UInt8>
    @usableFromInline var position: Int

    public init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    @inlinable public var remainingCount: Int { bytes.endIndex - position }
    @inlinable public var isAtEnd: Bool { remainingCount == 0 }

    @inlinable
    public mutating func read<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(BackupError) -> Value {
        let slice = try readRaw(count: MemoryLayout<Value>.size)
        return slice.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(as: Value.self)) }
    }

    @inlinable
    public mutating func readDigest<Digest: ByteDigest>(_: Digest.Type = Digest.self) throws(BackupError) -> Digest {
        let slice = try readRaw(count: Digest.byteCount)
        return slice.withUnsafeBytes { Digest(exactBytes: $0) }
    }

    @inlinable
    public mutating func readRaw(count: Int) throws(BackupError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remainingCount else {
            throw BackupError(.repositoryDamaged, "a structure ends \(count - remainingCount) bytes too early")
        }
        defer { position += count }
        return bytes[position..<position + count]
    }

    public mutating func readLengthPrefixed() throws(BackupError) -> ArraySlice<UInt8> {
        try readRaw(count: Int(read(UInt32.self)))
    }

    public mutating func readText() throws(BackupError) -> String {
        let slice = try readLengthPrefixed()
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw BackupError(.repositoryDamaged, "a text is not valid UTF-8")
        }
        return text
    }

    public mutating func readTimestamp() throws(BackupError) -> Timestamp {
        let seconds = try read(Int64.self)
        let nanoseconds = try read(UInt32.self)
        guard nanoseconds < 1_000_000_000 else { throw BackupError(.repositoryDamaged, "a time is out of range") }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}
