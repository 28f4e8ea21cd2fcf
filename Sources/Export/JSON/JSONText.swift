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
