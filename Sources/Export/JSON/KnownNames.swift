import AppData

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
