/// Decimal numbers inside JSON strings, stored verbatim: "12.50".
enum DecimalText {
    /// Parses short numbers without sign or exponent, the common case.
    private static func plainValue(_ bytes: UnsafeRawBufferPointer) -> Double? {
        guard (1...15).contains(bytes.count) else { return nil }
        var digits: UInt64 = 0
        var scale: UInt64 = 1
        var point = -1
        for index in 0..<bytes.count {
            let digit = bytes[index] &- 48
            if digit < 10 {
                digits = digits * 10 + UInt64(digit)
                if point >= 0 { scale *= 10 }
            } else {
                guard bytes[index] == UInt8(ascii: "."), point < 0, index > 0, index < bytes.count - 1 else { return nil }
                point = index
            }
        }
        return Double(digits) / Double(scale)
    }

    /// - Returns: the number for comparisons, or `nil` when it does not have the form `-?digits[.digits][e[±]digits]`.
    static func value(_ bytes: UnsafeRawBufferPointer) -> Double? {
        if let value = plainValue(bytes) { return value }
        guard bytes.count <= 400 else { return nil }
        var index = 0
        func digits() -> Int {
            let start = index
            while index < bytes.count, (48...57).contains(bytes[index]) { index += 1 }
            return index - start
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
        guard digits() > 0 else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard digits() > 0 else { return nil }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") { index += 1 }
            guard digits() > 0 else { return nil }
        }
        guard index == bytes.count else { return nil }
        guard let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }
}
