/// Converts the text of a JSON number into a value, exactly or not at all.
enum JSONNumber {
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22,
    ]

    /// - Returns: `nil` for a number outside 64 bits.
    static func integer(_ text: UnsafeRawBufferPointer) -> Int64? {
        var index = 0
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        var value: Int64 = 0
        while index < text.count {
            let digit = Int64(text[index]) - 48
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            // Negative numbers count down: there is one more of them.
            let (sum, carry) =
                isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflow || carry { return nil }
            value = sum
            index += 1
        }
        return value
    }

    /// A 64-bit integer that no double equals.
    @inline(__always)
    static func integerWithoutDouble(_ text: UnsafeRawBufferPointer) -> Int64? {
        // Every number of up to 15 digits has one.
        guard text.count > 15, let value = integer(text), Double(exactly: value) == nil else { return nil }
        return value
    }

    /// The nearest double.
    /// - Returns: `nil` for a number that is too large, and for one that is not zero but would round to zero.
    static func double(_ text: UnsafeRawBufferPointer) -> Double? {
        if let value = shortDouble(text) { return value }
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        if value == 0 {
            for byte in text {
                if byte | 0x20 == UInt8(ascii: "e") { break }
                if (49...57).contains(byte) { return nil }
            }
        }
        return value
    }

    /// Numbers of few digits: when the digits and the power of ten are both exact doubles, one division or multiplication rounds
    /// correctly (William Clinger, "How to Read Floating Point Numbers Accurately").
    private static func shortDouble(_ text: UnsafeRawBufferPointer) -> Double? {
        guard text.count <= 17 else { return nil }
        var digits: UInt64 = 0
        var fractionCount = 0
        var isFraction = false
        var index = 0
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else {
                guard byte &- 48 < 10 else { return nil }
                digits = digits * 10 + UInt64(byte - 48)
                if isFraction { fractionCount += 1 }
            }
            index += 1
        }
        guard digits <= 1 << 53 else { return nil }
        let value = Double(digits) / powers[fractionCount]
        return isNegative ? -value : value
    }
}

/// A record's key: an integer or a text, in SQLite's order (numbers before texts, texts by their bytes).
public enum JSONKey: Sendable, Hashable, Comparable, CustomStringConvertible {
    case integer(Int64)
    case text([UInt8])

    public var description: String {
        switch self {
        case .integer(let number): String(number)
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    public static func < (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
        case (.integer, .text): true
        case (.text, .integer): false
        }
    }
}
