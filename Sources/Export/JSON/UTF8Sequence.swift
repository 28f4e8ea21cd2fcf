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
