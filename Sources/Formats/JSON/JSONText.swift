import BackupCore

/// Writes JSON strings: escapes only quotes, backslashes and control characters.
enum JSONText {
    private static let digits: [Character] = Array("0123456789abcdef")

    /// - Parameter escapesSlashes: `\/`, like Foundation.
    /// - Returns: false when the text was not valid UTF-8; each invalid byte becomes U+FFFD.
    static func write(
        _ text: UnsafeRawBufferPointer, to output: OutputBuffer, escapesSlashes: Bool = false
    ) throws(BackupError) -> Bool {
        try output.append(UInt8(ascii: "\""))
        var isValid = true
        if let start = text.baseAddress?.assumingMemoryBound(to: UInt8.self) {
            if escapesSlashes {
                isValid = try writeEscapingSlashes(start, text.count, to: output)
            } else {
                isValid = try writeContent(start, text.count, to: output)
            }
        }
        try output.append(UInt8(ascii: "\""))
        return isValid
    }

    /// A slash is never part of a longer UTF-8 sequence: the text between two can be written separately.
    private static func writeEscapingSlashes(
        _ bytes: UnsafePointer<UInt8>, _ count: Int, to output: OutputBuffer
    ) throws(BackupError) -> Bool {
        var isValid = true
        var start = 0
        while true {
            var end = start
            while end < count, bytes[end] != UInt8(ascii: "/") { end += 1 }
            if try !writeContent(bytes + start, end - start, to: output) { isValid = false }
            if end == count { return isValid }
            try output.append("\\/")
            start = end + 1
        }
    }

    private static func writeContent(
        _ bytes: UnsafePointer<UInt8>, _ count: Int, to output: OutputBuffer
    ) throws(BackupError) -> Bool {
        var isValid = true
        var index = 0
        var start = 0
        while true {
            index += PlainTextScan.plainCount(bytes + index, count: count - index)
            guard index < count else { break }
            let byte = bytes[index]
            if byte >= 0x80 {
                let length = UTF8Sequence.length(bytes + index, count: count - index)
                if length > 0 {
                    index += length
                    // Characters of other scripts come in runs.
                    while index < count, bytes[index] >= 0x80 {
                        let next = UTF8Sequence.length(bytes + index, count: count - index)
                        if next == 0 { break }
                        index += next
                    }
                    continue
                }
                isValid = false
            }
            try output.append(bytes + start, count: index - start)
            try writeEscaped(byte, to: output)
            index += 1
            start = index
        }
        try output.append(bytes + start, count: index - start)
        return isValid
    }

    private static func writeEscaped(_ byte: UInt8, to output: OutputBuffer) throws(BackupError) {
        try output.append(escape(of: byte) ?? "\u{FFFD}")
    }

    /// The escape of a character that cannot be in a string unescaped; `nil` for all others.
    static func escape(of byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "\""): "\\\""
        case UInt8(ascii: "\\"): "\\\\"
        case 8: "\\b"
        case 9: "\\t"
        case 10: "\\n"
        case 12: "\\f"
        case 13: "\\r"
        case 0..<0x20: byte < 0x10 ? "\\u000\(digits[Int(byte)])" : "\\u001\(digits[Int(byte & 15)])"
        default: nil
        }
    }
}

/// Collects output in one block of memory and forwards it when the block is full. For one thread.
final class OutputBuffer {
    private static let capacity = 128 << 10

    private let storage = UnsafeMutablePointer<UInt8>.allocate(capacity: OutputBuffer.capacity)
    private var count = 0
    /// The bytes before those in the block.
    private var forwardedByteCount: UInt64 = 0
    private let receiver: (UnsafeRawBufferPointer) throws(BackupError) -> Void

    init(_ receiver: @escaping (UnsafeRawBufferPointer) throws(BackupError) -> Void) { self.receiver = receiver }

    deinit { storage.deallocate() }

    /// All bytes that were appended.
    var byteCount: UInt64 { forwardedByteCount + UInt64(count) }

    func flush() throws(BackupError) {
        guard count > 0 else { return }
        let full = UnsafeRawBufferPointer(start: storage, count: count)
        count = 0
        try forward(full)
    }

    private func forward(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        forwardedByteCount += UInt64(bytes.count)
        try receiver(bytes)
    }

    @inline(__always)
    func append(_ byte: UInt8) throws(BackupError) {
        if count == Self.capacity { try flush() }
        storage[count] = byte
        count += 1
    }

    @inline(__always)
    func append(_ bytes: UnsafePointer<UInt8>, count length: Int) throws(BackupError) {
        if length > Self.capacity - count { return try appendSlowly(bytes, count: length) }
        (storage + count).update(from: bytes, count: length)
        count += length
    }

    private func appendSlowly(_ bytes: UnsafePointer<UInt8>, count length: Int) throws(BackupError) {
        try flush()
        if length >= Self.capacity { return try forward(UnsafeRawBufferPointer(start: bytes, count: length)) }
        storage.update(from: bytes, count: length)
        count = length
    }

    func append(_ bytes: [UInt8]) throws(BackupError) {
        var outcome: Result<Void, BackupError> = .success(())
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            outcome = Result { () throws(BackupError) in try append(base, count: buffer.count) }
        }
        try outcome.get()
    }

    func append(_ text: String) throws(BackupError) {
        var text = text
        var outcome: Result<Void, BackupError> = .success(())
        text.withUTF8 { buffer in
            guard let base = buffer.baseAddress else { return }
            outcome = Result { () throws(BackupError) in try append(base, count: buffer.count) }
        }
        try outcome.get()
    }

    @inline(__always)
    func append(_ text: StaticString) throws(BackupError) { try append(text.utf8Start, count: text.utf8CodeUnitCount) }

    /// Decimal digits.
    func append(_ number: Int64) throws(BackupError) {
        if Self.capacity - count < 20 { try flush() }
        var magnitude = number.magnitude
        if number < 0 {
            storage[count] = UInt8(ascii: "-")
            count += 1
        }
        var digits = 1
        var power: UInt64 = 10
        while digits < 20, magnitude >= power {
            digits += 1
            if digits == 20 { break }
            power *= 10
        }
        var index = count + digits
        count += digits
        repeat {
            index -= 1
            storage[index] = UInt8(48 + magnitude % 10)
            magnitude /= 10
        } while magnitude > 0
    }
}

/// Finds bytes of a text that need a closer look, eight at a time.
enum PlainTextScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// - Returns: the number of leading bytes that are printable ASCII other than `"` and `\`; `count` if all are.
    @inline(__always)
    static func plainCount(_ bytes: UnsafePointer<UInt8>, count: Int) -> Int {
        var index = 0
        while index + 8 <= count {
            let word = UInt64(littleEndian: UnsafeRawPointer(bytes + index).loadUnaligned(as: UInt64.self))
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            // Sets the high bit of each byte that matches: zero, or below 0x20. Only the lowest one is exact, and only that is
            // used.
            let isQuote = (quote &- ones) & ~quote
            let isBackslash = (backslash &- ones) & ~backslash
            let isControl = (word &- ones &* 0x20) & ~word
            let special = (isQuote | isBackslash | isControl | word) & highs
            if special != 0 { return index + special.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count, isPlain(bytes[index]) { index += 1 }
        return index
    }

    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5C }
}

/// UTF-8, sequence by sequence (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
enum UTF8Sequence {
    static func isValid(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let bytes = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return true }
        var index = 0
        while index < text.count {
            index += PlainTextScan.plainCount(bytes + index, count: text.count - index)
            guard index < text.count else { break }
            let length = length(bytes + index, count: text.count - index)
            if length == 0 { return false }
            index += length
        }
        return true
    }

    /// - Parameter count: the number of bytes at `bytes`, at least 1.
    /// - Returns: the length of the valid sequence at `bytes`, or 0 when there is none.
    @inline(__always)
    static func length(_ bytes: UnsafePointer<UInt8>, count: Int) -> Int {
        let first = bytes[0]
        if first < 0x80 { return 1 }
        if first < 0xC2 { return 0 }
        guard count >= 2 else { return 0 }
        let second = bytes[1]
        if first < 0xE0 { return second & 0xC0 == 0x80 ? 2 : 0 }
        if first < 0xF0 {
            guard count >= 3, bytes[2] & 0xC0 == 0x80 else { return 0 }
            switch first {
            case 0xE0: return (0xA0...0xBF).contains(second) ? 3 : 0
            case 0xED: return (0x80...0x9F).contains(second) ? 3 : 0
            default: return second & 0xC0 == 0x80 ? 3 : 0
            }
        }
        guard first < 0xF5, count >= 4, bytes[2] & 0xC0 == 0x80, bytes[3] & 0xC0 == 0x80 else { return 0 }
        switch first {
        case 0xF0: return (0x90...0xBF).contains(second) ? 4 : 0
        case 0xF4: return (0x80...0x8F).contains(second) ? 4 : 0
        default: return second & 0xC0 == 0x80 ? 4 : 0
        }
    }
}
