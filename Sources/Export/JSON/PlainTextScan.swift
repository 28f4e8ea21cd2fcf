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
            // Sets the high bit of each byte that matches: zero, or below 0x20. Only the lowest one is exact, and only that is used.
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
