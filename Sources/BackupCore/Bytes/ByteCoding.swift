/// Builds the repository's binary structures: little-endian integers and length-prefixed bytes.
public struct ByteWriter: Sendable {
    @usableFromInline var storage: [UInt8] = []
    /// All bytes so far.
    public var bytes: [UInt8] { storage }

    public init() {}

    /// Appends the bytes of `value`, the lowest first.
    @inlinable
    public mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { storage.append(contentsOf: $0) }
    }

    /// Appends the digest's bytes without a length: the reader knows its kind.
    public mutating func append(_ digest: some ByteDigest) {
        digest.withUnsafeBytes { storage.append(contentsOf: $0) }
    }

    /// Appends the bytes as they are, without a length.
    public mutating func append(raw: some Collection<UInt8>) { storage.append(contentsOf: raw) }

    /// A 32-bit length, followed by the bytes.
    public mutating func append(lengthPrefixed value: some Collection<UInt8>) {
        append(UInt32(value.count))
        storage.append(contentsOf: value)
    }

    /// Appends the text as UTF-8, after its 32-bit length in bytes.
    public mutating func append(_ text: String) { append(lengthPrefixed: text.utf8) }

    /// Appends 12 bytes: the seconds in 64 bits, the nanoseconds in 32.
    public mutating func append(_ time: Timestamp) {
        append(time.seconds)
        append(time.nanoseconds)
    }
}

/// Reads the repository's binary structures. Checks every length against the remaining bytes before it allocates memory: the
/// bytes may be damaged or hostile.
///
/// Generic functions are inlinable: the other modules read a million numbers of a large backup, and each is ten times as fast
/// when specialized.
public struct ByteReader: Sendable {
    @usableFromInline let bytes: ArraySlice<UInt8>
    @usableFromInline var position: Int

    /// Begins at the first byte of the slice.
    public init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// Begins at the first byte.
    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// Number of bytes that have not been read.
    @inlinable public var remainingCount: Int { bytes.endIndex - position }
    /// Whether every byte has been read.
    @inlinable public var isAtEnd: Bool { remainingCount == 0 }

    /// A little-endian integer.
    @inlinable
    public mutating func read<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(BackupError) -> Value {
        let slice = try readRaw(count: MemoryLayout<Value>.size)
        return slice.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(as: Value.self)) }
    }

    /// Reads as many bytes as the digest has; fails with `.repositoryDamaged` when fewer remain.
    @inlinable
    public mutating func readDigest<Digest: ByteDigest>(_: Digest.Type = Digest.self) throws(BackupError) -> Digest {
        let slice = try readRaw(count: Digest.byteCount)
        return slice.withUnsafeBytes { Digest(exactBytes: $0) }
    }

    /// - Throws: `repositoryDamaged` when fewer bytes remain.
    @inlinable
    public mutating func readRaw(count: Int) throws(BackupError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remainingCount else {
            throw BackupError(.repositoryDamaged, "a structure ends \(count - remainingCount) bytes too early")
        }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// A 32-bit length, and that many bytes.
    public mutating func readLengthPrefixed() throws(BackupError) -> ArraySlice<UInt8> {
        try readRaw(count: Int(read(UInt32.self)))
    }

    /// Length-prefixed UTF-8.
    public mutating func readText() throws(BackupError) -> String {
        let slice = try readLengthPrefixed()
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw BackupError(.repositoryDamaged, "a text is not valid UTF-8")
        }
        return text
    }

    /// Fails with `.repositoryDamaged` if the nanoseconds are a second or more.
    public mutating func readTimestamp() throws(BackupError) -> Timestamp {
        let seconds = try read(Int64.self)
        let nanoseconds = try read(UInt32.self)
        guard nanoseconds < 1_000_000_000 else { throw BackupError(.repositoryDamaged, "a time is out of range") }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}

/// A message that is sent to another process of this program, which may show it in another language.
extension ByteWriter {
    /// Appends the template and the arguments, nested messages included; `readMessage` reads them.
    public mutating func append(_ message: Message) {
        append(message.template)
        append(message.plural?.one ?? "")
        append(message.plural?.count ?? 0)
        append(UInt32(message.arguments.count))
        for argument in message.arguments {
            switch argument {
            case .text(let text):
                append(UInt8(0))
                append(text)
            case .message(let message):
                append(UInt8(1))
                append(message)
            }
        }
    }
}

extension ByteReader {
    /// Deeper than any message that is written: a damaged message must not exhaust the stack.
    private static var messageDepthLimit: Int { 64 }

    /// What `append(_:)` wrote for a message. A message that is nested too deeply is `.damagedContent`.
    public mutating func readMessage() throws(BackupError) -> Message { try readMessage(depth: 0) }

    private mutating func readMessage(depth: Int) throws(BackupError) -> Message {
        guard depth < Self.messageDepthLimit else { throw BackupError(.damagedContent, "a message is nested too deeply") }
        let template = try readText()
        let one = try readText()
        let count = try read(UInt64.self)
        var arguments: [Message.Argument] = []
        for _ in 0..<(try read(UInt32.self)) {
            if try read(UInt8.self) == 0 {
                arguments.append(.text(try readText()))
            } else {
                arguments.append(.message(try readMessage(depth: depth + 1)))
            }
        }
        return Message(
            template: template, arguments: arguments, plural: one.isEmpty ? nil : Message.Plural(count: count, one: one))
    }
}
