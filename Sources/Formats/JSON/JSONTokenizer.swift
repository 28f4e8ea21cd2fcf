import AppData
import BackupCore

/// Reads JSON (strictly RFC 8259) token by token from a source of any size. Its buffer grows only with the longest string.
///
/// Strict means: UTF-8 only and all of it valid, a byte order mark tolerated at the start, no trailing commas, no comments, no
/// NaN, no leading zeros, no unknown escapes, no lone surrogates, no control characters in strings, no duplicate keys in an
/// object, no more than `depthLimit` nested containers, nothing after the value. For one thread.
public final class JSONTokenizer {
    /// The kind of what was read. The tokenizer has the text of a key, a string or a number until the next token.
    public enum Token: Sendable, Equatable {
        case beginObject, endObject, beginArray, endArray
        /// A member's name; its value is the next token.
        case key
        case string, number, `true`, `false`, null
        /// The value and the source have ended.
        case end
    }

    enum Expectation { case value, valueOrEnd, keyOrEnd, key, colon, commaOrEnd, nothing }

    /// For objects and arrays together.
    public static let depthLimit = 64
    /// Of one string, after its escapes are decoded.
    public static let stringLimitBytes = 64 << 20
    static let numberLimitBytes = 1_000

    private let source: any ByteSource
    // Shared with the extension that reads strings, which is in another file.
    var buffer: UnsafeMutablePointer<UInt8>
    var capacity: Int
    var position = 0
    var limit = 0
    /// Offset in the source of the buffer's first byte.
    private var bufferOffset: UInt64 = 0
    var isAtEnd = false

    var expectation = Expectation.value
    private(set) var depth = 0
    /// Bit n is set when the container at depth n is an object.
    private var objectBits: UInt64 = 0
    let keys = JSONKeyTracker(depthLimit: JSONTokenizer.depthLimit)

    /// The names for `knownMember`, and a bit for each one that it has found in the innermost object but not yet added to `keys`.
    package var knownNames = KnownNames([])
    var unrecordedNames: UInt64 = 0

    /// Unescaped content of the last string, when it had escapes.
    var scratch: [UInt8] = []
    var textStart = 0
    var textCount = 0
    var isTextInScratch = false
    /// Whether the last number has neither fraction nor exponent.
    public internal(set) var isInteger = false

    /// - Parameter bufferSizeBytes: at least 64; tests use small ones, so that every token crosses the buffer's end.
    public init(_ source: any ByteSource, bufferSizeBytes: Int = 256 << 10) {
        self.source = source
        capacity = max(64, bufferSizeBytes)
        buffer = .allocate(capacity: capacity)
    }

    deinit { buffer.deallocate() }

    /// Passes the content of the last key or string, or the text of the last number; the bytes are valid only inside `body`.
    public func withText<Result>(_ body: (UnsafeRawBufferPointer) throws(BackupError) -> Result) throws(BackupError) -> Result {
        if isTextInScratch {
            // The array does not change while the pointer is in use: `body` must not call `next`.
            var outcome: Swift.Result<Result, BackupError>?
            scratch.withUnsafeBytes { bytes in
                outcome = Swift.Result { () throws(BackupError) in try body(bytes) }
            }
            guard let outcome else { throw failure("no text") }
            return try outcome.get()
        }
        return try body(UnsafeRawBufferPointer(start: buffer + textStart, count: textCount))
    }

    /// The last key, string or number as text.
    public func text() -> String {
        (try? withText { String(decoding: $0, as: UTF8.self) }) ?? ""
    }

    /// - Throws: `invalidContent` with line, column and byte of the error; nothing can be read after it.
    public func next() throws(BackupError) -> Token {
        if bufferOffset == 0, position == 0 { try skipByteOrderMark() }
        try skipSpace()
        switch expectation {
        case .value: return try value()
        case .valueOrEnd:
            if position < limit, buffer[position] == UInt8(ascii: "]") { return endContainer(.endArray) }
            return try value()
        case .keyOrEnd:
            if position < limit, buffer[position] == UInt8(ascii: "}") { return endContainer(.endObject) }
            return try key()
        case .key: return try key()
        case .colon:
            guard position < limit else { throw failure("the file ends where a colon is expected") }
            guard buffer[position] == UInt8(ascii: ":") else { throw failure("a colon is expected after a name") }
            position += 1
            try skipSpace()
            return try value()
        case .commaOrEnd: return try commaOrEnd()
        case .nothing:
            guard position >= limit else { throw failure("something follows the end of the data") }
            return .end
        }
    }

    /// Skips the rest of the value that began with `token`, but still validates it.
    public func skip(_ token: Token) throws(BackupError) {
        guard token == .beginObject || token == .beginArray else { return }
        let outer = depth - 1
        while depth > outer { _ = try next() }
    }

    /// The next byte to read in the source. White space before it may or may not have been skipped.
    var place: UInt64 { bufferOffset + UInt64(position) }

    /// Continues at a later comma between two elements of the current array, as if everything before it had been read. The caller
    /// guarantees that the skipped bytes are valid.
    func skipElements(toCommaAt offset: UInt64) {
        precondition(expectation == .commaOrEnd && objectBits & (1 << UInt64(depth - 1)) == 0, "no array is being read")
        if offset >= bufferOffset, offset <= bufferOffset + UInt64(limit) {
            position = Int(offset - bufferOffset)
        } else {
            bufferOffset = offset
            position = 0
            limit = 0
            isAtEnd = false
        }
    }

    // MARK: Structure

    private func commaOrEnd() throws(BackupError) -> Token {
        let isObject = objectBits & (1 << UInt64(depth - 1)) != 0
        guard position < limit else {
            throw failure(isObject ? "the file ends inside an object" : "the file ends inside an array")
        }
        switch buffer[position] {
        case UInt8(ascii: ","):
            position += 1
            try skipSpace()
            return isObject ? try key() : try value()
        case UInt8(ascii: "}") where isObject: return endContainer(.endObject)
        case UInt8(ascii: "]") where !isObject: return endContainer(.endArray)
        default: throw failure("a comma or \(isObject ? "}" : "]") is expected")
        }
    }

    private func endContainer(_ token: Token) -> Token {
        position += 1
        if token == .endObject {
            keys.endObject()
            unrecordedNames = 0
        }
        depth -= 1
        expectation = depth == 0 ? .nothing : .commaOrEnd
        return token
    }

    private func beginContainer(_ token: Token) throws(BackupError) -> Token {
        guard depth < Self.depthLimit else { throw failure("more than \(Self.depthLimit) levels are nested") }
        position += 1
        let bit: UInt64 = 1 << UInt64(depth)
        if token == .beginObject {
            objectBits |= bit
            keys.beginObject()
            expectation = .keyOrEnd
        } else {
            objectBits &= ~bit
            expectation = .valueOrEnd
        }
        depth += 1
        return token
    }

    private func key() throws(BackupError) -> Token {
        guard position < limit else { throw failure("the file ends inside an object") }
        guard buffer[position] == UInt8(ascii: "\"") else { throw failure("a name in double quotes is expected") }
        let start = bufferOffset + UInt64(position)
        recordKnownNames()
        try string()
        let outcome = try withText { (bytes) throws(BackupError) in keys.record(bytes) }
        switch outcome {
        case .new: break
        case .repeated: throw failure("the name \"\(MessageText.shortened(text()))\" occurs twice in an object", at: start)
        case .tooMany: throw failure("an object has too many members", at: start)
        }
        expectation = .colon
        return .key
    }

    private func value() throws(BackupError) -> Token {
        guard position < limit else { throw failure("the file ends where a value is expected") }
        let token: Token
        switch buffer[position] {
        case UInt8(ascii: "\""):
            try string()
            token = .string
        case UInt8(ascii: "-"), 48...57:
            try number()
            token = .number
        case UInt8(ascii: "{"): return try beginContainer(.beginObject)
        case UInt8(ascii: "["): return try beginContainer(.beginArray)
        case UInt8(ascii: "t"): token = try literal("true", .true)
        case UInt8(ascii: "f"): token = try literal("false", .false)
        case UInt8(ascii: "n"): token = try literal("null", .null)
        default: throw failure("a value is expected")
        }
        expectation = depth == 0 ? .nothing : .commaOrEnd
        return token
    }

    private func literal(_ word: StaticString, _ token: Token) throws(BackupError) -> Token {
        let count = word.utf8CodeUnitCount
        try ensure(count)
        guard limit - position >= count else { throw failure("a value is expected") }
        for index in 0..<count where buffer[position + index] != word.utf8Start[index] { throw failure("a value is expected") }
        position += count
        return token
    }

    // MARK: Numbers

    private func number() throws(BackupError) {
        try ensure(Self.numberLimitBytes + 1)
        let start = position
        isInteger = true
        if buffer[position] == UInt8(ascii: "-") { position += 1 }
        guard position < limit, isDigit(buffer[position]) else { throw failure("a digit is expected") }
        if buffer[position] == UInt8(ascii: "0") {
            position += 1
            if position < limit, isDigit(buffer[position]) { throw failure("a number begins with a zero") }
        } else {
            skipDigits()
        }
        if position < limit, buffer[position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard position < limit, isDigit(buffer[position]) else { throw failure("a digit is expected after the point") }
            skipDigits()
        }
        if position < limit, buffer[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < limit, buffer[position] == UInt8(ascii: "+") || buffer[position] == UInt8(ascii: "-") { position += 1 }
            guard position < limit, isDigit(buffer[position]) else { throw failure("a digit is expected in the exponent") }
            skipDigits()
        }
        guard position - start <= Self.numberLimitBytes else {
            throw failure("a number has more than \(Self.numberLimitBytes) digits")
        }
        textStart = start
        textCount = position - start
        isTextInScratch = false
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }

    @inline(__always)
    private func skipDigits() { while position < limit, isDigit(buffer[position]) { position += 1 } }

    // MARK: Buffer

    private func skipByteOrderMark() throws(BackupError) {
        try ensure(3)
        if limit - position >= 3, buffer[0] == 0xEF, buffer[1] == 0xBB, buffer[2] == 0xBF { position = 3 }
    }

    @inline(__always)
    private func skipSpace() throws(BackupError) {
        while true {
            while position < limit {
                let byte = buffer[position]
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
                position += 1
            }
            guard try fill(keepingFrom: position) else { return }
        }
    }

    /// Ensures that `count` bytes are in the buffer, or all that the source has left.
    @inline(__always)
    func ensure(_ count: Int) throws(BackupError) {
        while limit - position < count, !isAtEnd { _ = try fill(keepingFrom: position) }
    }

    /// Moves the kept bytes to the buffer's start and reads more after them; adjusts positions.
    /// - Returns: false at the end of the source.
    func fill(keepingFrom start: Int) throws(BackupError) -> Bool {
        guard !isAtEnd else { return false }
        let kept = limit - start
        if start > 0 {
            buffer.update(from: buffer + start, count: kept)
            bufferOffset += UInt64(start)
            position -= start
            limit = kept
        }
        if capacity - limit < 1 + capacity / 2 {
            let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * 2)
            grown.update(from: buffer, count: limit)
            buffer.deallocate()
            buffer = grown
            capacity *= 2
        }
        let free = UnsafeMutableRawBufferPointer(start: buffer + limit, count: capacity - limit)
        let count = try source.read(at: bufferOffset + UInt64(limit), into: free)
        if count == 0 { isAtEnd = true }
        limit += count
        return count > 0
    }

    // MARK: Errors

    /// - Parameter offset: the byte offset in the source; `nil` for the current position.
    func failure(_ what: Message, at offset: UInt64? = nil) -> BackupError {
        let offset = offset ?? bufferOffset + UInt64(position)
        let place: Message = (try? JSONLocation.find(offset, in: source)) ?? "byte \(offset)"
        return BackupError(.invalidContent, ImportMessages.invalidFormat, findings: ["\(place): \(what)"])
    }
}

/// Line and column of a byte. Counted only after an error: valid files pay nothing for them.
enum JSONLocation {
    /// - Returns: "line 3, column 5 (byte 40)"; lines and columns begin at 1, columns count characters, bytes begin at 0.
    static func find(_ target: UInt64, in source: any ByteSource) throws(BackupError) -> Message {
        var line = 1
        var column = 1
        var offset: UInt64 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        while offset < target {
            let wanted = Int(min(UInt64(buffer.count), target - offset))
            let count = try source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
            if count == 0 { break }
            // By number: without the optimizer, a slice takes twenty times as long.
            var index = 0
            while index < count {
                let byte = buffer[index]
                index += 1
                if byte == 0x0A {
                    line += 1
                    column = 1
                } else if byte & 0xC0 != 0x80 {
                    column += 1
                }
            }
            offset += UInt64(count)
        }
        return "line \(line), column \(column) (byte \(target))"
    }
}
