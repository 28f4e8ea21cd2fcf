import AppData
import BackupCore

/// The fast path for typical members: in the expected order, with a string, a short number or a word as value, and entirely in
/// the buffer. It handles a subset of the input of `next`, with the same effect, and leaves everything else to `next`, including
/// error reports.
extension JSONTokenizer {
    private static let shortNumberLimitBytes = 32

    /// Reads the name and the value of the innermost object's next member.
    /// - Parameter first: only searches names from this index on in `knownNames`. None of them may have been read in this object:
    ///   duplicates are not checked.
    /// - Returns: the name's index, and the value's token as `next` would have returned it; `nil` when the caller must use
    ///   `next`. Nothing has been read then.
    /// - Throws: like `next`, for an invalid string.
    package func knownMember(from first: Int, of names: KnownNames) throws(BackupError) -> (index: Int, token: Token)? {
        guard expectation == .commaOrEnd || expectation == .keyOrEnd, keys.isFarFromLimits else { return nil }
        let limit = limit
        let buffer = UnsafePointer(buffer)
        var place = Self.passSpace(buffer, position, limit)
        if expectation == .commaOrEnd {
            guard place < limit, buffer[place] == UInt8(ascii: ",") else { return nil }
            place = Self.passSpace(buffer, place + 1, limit)
        }
        guard place < limit, buffer[place] == UInt8(ascii: "\"") else { return nil }
        place += 1
        guard let name = names.find(buffer + place, count: limit - place, from: first) else { return nil }
        place = Self.passSpace(buffer, place + name.count, limit)
        guard place < limit, buffer[place] == UInt8(ascii: ":") else { return nil }
        place = Self.passSpace(buffer, place + 1, limit)
        guard place < limit else { return nil }
        let end: Int
        let token: Token
        switch buffer[place] {
        case UInt8(ascii: "\""):
            guard let count = Self.plainStringCount(buffer + place + 1, limit - place - 1) else {
                // It has escapes, or is not entirely in the buffer. Everything before it has been read.
                position = place
                try string()
                expectation = .commaOrEnd
                unrecordedNames |= 1 << UInt64(name.index)
                return (name.index, .string)
            }
            textStart = place + 1
            textCount = count
            isTextInScratch = false
            end = place + count + 2
            token = .string
        case UInt8(ascii: "-"), 48...57:
            guard let number = Self.shortNumber(buffer + place, limit - place) else { return nil }
            textStart = place
            textCount = number.count
            isTextInScratch = false
            isInteger = number.isInteger
            end = place + number.count
            token = .number
        case UInt8(ascii: "t") where Self.stands("true", buffer + place, limit - place): (end, token) = (place + 4, .true)
        case UInt8(ascii: "f") where Self.stands("false", buffer + place, limit - place): (end, token) = (place + 5, .false)
        case UInt8(ascii: "n") where Self.stands("null", buffer + place, limit - place): (end, token) = (place + 4, .null)
        default: return nil
        }
        position = end
        expectation = .commaOrEnd
        unrecordedNames |= 1 << UInt64(name.index)
        return (name.index, token)
    }

    /// To be called before another name of the same object is examined: it may equal one that was found here.
    @inline(__always)
    func recordKnownNames() {
        if unrecordedNames != 0 { recordKnownNamesNow() }
    }

    private func recordKnownNamesNow() {
        while unrecordedNames != 0 {
            let index = unrecordedNames.trailingZeroBitCount
            unrecordedNames &= unrecordedNames - 1
            // Each one is new, and far from all limits.
            knownNames.texts[index].withUnsafeBytes { _ = keys.record($0) }
        }
    }

    @inline(__always)
    private static func passSpace(_ buffer: UnsafePointer<UInt8>, _ start: Int, _ limit: Int) -> Int {
        var place = start
        while place < limit, buffer[place] <= 0x20 {
            let byte = buffer[place]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return place }
            place += 1
            // Mostly indentation
            while place + 8 <= limit {
                let word = UInt64(littleEndian: UnsafeRawPointer(buffer + place).loadUnaligned(as: UInt64.self))
                let others = word ^ 0x2020_2020_2020_2020
                place += others.trailingZeroBitCount / 8
                if others != 0 { break }
            }
        }
        return place
    }

    /// - Returns: the number of bytes before the closing quote; `nil` when anything other than plain text comes before it.
    @inline(__always)
    private static func plainStringCount(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int? {
        var index = 0
        while true {
            index += PlainTextScan.plainCount(bytes + index, count: count - index)
            guard index < count else { return nil }
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { return index }
            guard byte >= 0x80 else { return nil }
            // Characters of other scripts come in runs.
            repeat {
                let length = UTF8Sequence.length(bytes + index, count: count - index)
                guard length > 0 else { return nil }
                index += length
            } while index < count && bytes[index] >= 0x80
        }
    }

    /// A number without an exponent.
    /// - Returns: `nil` for anything else, or if it may continue after the buffer.
    @inline(__always)
    private static func shortNumber(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> (count: Int, isInteger: Bool)? {
        let limit = min(count, shortNumberLimitBytes)
        func digitsEnd(_ start: Int) -> Int {
            var index = start
            while index < limit, bytes[index] &- 48 < 10 { index += 1 }
            return index
        }
        var isInteger = true
        let start = bytes[0] == UInt8(ascii: "-") ? 1 : 0
        var end = digitsEnd(start)
        guard end > start, end < limit, bytes[start] != UInt8(ascii: "0") || end == start + 1 else { return nil }
        if bytes[end] == UInt8(ascii: ".") {
            isInteger = false
            let fraction = end + 1
            end = digitsEnd(fraction)
            guard end > fraction, end < limit else { return nil }
        }
        guard bytes[end] | 0x20 != UInt8(ascii: "e") else { return nil }
        return (end, isInteger)
    }

    @inline(__always)
    private static func stands(_ word: StaticString, _ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard word.utf8CodeUnitCount <= count else { return false }
        for index in 0..<word.utf8CodeUnitCount where bytes[index] != word.utf8Start[index] { return false }
        return true
    }
}

/// The names of expected members, prepared for comparison with a file's bytes, eight at a time.
package final class KnownNames {
    private struct Name {
        /// Index of its first word.
        let start: Int
        /// With the closing quote; 0 when its bytes cannot be compared directly.
        let count: Int
    }

    static let countLimit = 64

    /// The names.
    let texts: [[UInt8]]
    private let names: [Name]
    /// Each name with its closing quote, padded with zeros.
    private let words: [UInt64]
    /// A word has all bits set where the bytes count.
    private let masks: [UInt64]

    /// - Parameter fields: only the first 64 are used. Excludes names that JSON must escape.
    package init(_ fields: [FieldDefinition]) {
        var names: [Name] = []
        var words: [UInt64] = []
        var masks: [UInt64] = []
        for field in fields.prefix(Self.countLimit) {
            let isPlain = field.name.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            let bytes = Array(field.name.utf8) + [UInt8(ascii: "\"")]
            names.append(Name(start: words.count, count: isPlain ? bytes.count : 0))
            for start in stride(from: 0, to: bytes.count, by: 8) {
                var word: UInt64 = 0
                var mask: UInt64 = 0
                for (place, byte) in bytes[start...].prefix(8).enumerated() {
                    word |= UInt64(byte) << UInt64(8 * place)
                    mask |= 0xFF << UInt64(8 * place)
                }
                words.append(word)
                masks.append(mask)
            }
        }
        texts = fields.prefix(Self.countLimit).map { Array($0.name.utf8) }
        self.names = names
        self.words = words
        self.masks = masks
    }

    /// Finds the first name from index `first` on that matches the text at `bytes`, up to its closing quote.
    /// - Parameter count: the number of available bytes; longer names are not compared.
    /// - Returns: its index, and its length with the quote.
    @inline(__always)
    func find(_ bytes: UnsafePointer<UInt8>, count: Int, from first: Int) -> (index: Int, count: Int)? {
        var index = first
        while index < names.count {
            let name = names[index]
            if name.count > 0, matches(name, bytes, count) { return (index, name.count) }
            index += 1
        }
        return nil
    }

    @inline(__always)
    private func matches(_ name: Name, _ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        let wordCount = (name.count + 7) / 8
        guard wordCount * 8 <= count else { return false }
        for place in 0..<wordCount {
            let word = UInt64(littleEndian: UnsafeRawPointer(bytes + place * 8).loadUnaligned(as: UInt64.self))
            if (word & masks[name.start + place]) != words[name.start + place] { return false }
        }
        return true
    }
}
