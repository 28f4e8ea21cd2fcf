import BackupCore

/// Reads strings: most of the bytes of most files.
extension JSONTokenizer {
    /// Reads from the opening quote past the closing one.
    func string() throws(BackupError) {
        position += 1
        var start = position
        isTextInScratch = false
        while true {
            position += PlainTextScan.plainCount(buffer + position, count: limit - position)
            if position - start + (isTextInScratch ? scratch.count : 0) > Self.stringLimitBytes {
                throw failure("a string has more than \(Self.stringLimitBytes >> 20) MiB")
            }
            guard position < limit else {
                if position - start > capacity / 2 {
                    // A long string is collected separately, so that the buffer keeps its size.
                    moveToScratch(from: start)
                    start = position
                }
                let kept = position - start
                guard try fill(keepingFrom: start) else { throw failure("the file ends inside a string") }
                start = position - kept
                continue
            }
            let byte = buffer[position]
            if byte == UInt8(ascii: "\"") {
                if isTextInScratch {
                    scratch.append(contentsOf: UnsafeBufferPointer(start: buffer + start, count: position - start))
                } else {
                    textStart = start
                    textCount = position - start
                }
                position += 1
                return
            }
            if byte == UInt8(ascii: "\\") {
                moveToScratch(from: start)
                try escape()
                start = position
            } else if byte < 0x20 {
                throw failure("a control character is inside a string")
            } else {
                while limit - position < 4, !isAtEnd {
                    let kept = position - start
                    _ = try fill(keepingFrom: start)
                    start = position - kept
                }
                let length = UTF8Sequence.length(buffer + position, count: limit - position)
                guard length > 0 else { throw failure("a byte is not valid UTF-8") }
                position += length
            }
        }
    }

    private func moveToScratch(from start: Int) {
        if !isTextInScratch {
            scratch.removeAll(keepingCapacity: scratch.capacity <= 1 << 20)
            isTextInScratch = true
        }
        scratch.append(contentsOf: UnsafeBufferPointer(start: buffer + start, count: position - start))
    }

    private func escape() throws(BackupError) {
        try ensure(12)
        guard limit - position >= 2 else { throw failure("the file ends inside a string") }
        let kind = buffer[position + 1]
        let plain: UInt8
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): plain = kind
        case UInt8(ascii: "b"): plain = 8
        case UInt8(ascii: "f"): plain = 12
        case UInt8(ascii: "n"): plain = 10
        case UInt8(ascii: "r"): plain = 13
        case UInt8(ascii: "t"): plain = 9
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure("an unknown escape is inside a string")
        }
        scratch.append(plain)
        position += 2
    }

    private func unicodeEscape() throws(BackupError) {
        let first = try hexadecimal(at: position + 2)
        var code = first
        var count = 6
        if (0xD800...0xDBFF).contains(first) {
            guard limit - position >= 8, buffer[position + 6] == UInt8(ascii: "\\"), buffer[position + 7] == UInt8(ascii: "u")
            else { throw failure("half of a surrogate pair is inside a string") }
            let second = try hexadecimal(at: position + 8)
            guard (0xDC00...0xDFFF).contains(second) else { throw failure("half of a surrogate pair is inside a string") }
            code = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
            count = 12
        }
        guard let scalar = Unicode.Scalar(code) else { throw failure("half of a surrogate pair is inside a string") }
        scratch.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
        position += count
    }

    private func hexadecimal(at index: Int) throws(BackupError) -> UInt32 {
        guard limit - index >= 4 else { throw failure("an escape needs four hexadecimal digits") }
        var value: UInt32 = 0
        for offset in 0..<4 {
            let byte = buffer[index + offset]
            let digit: UInt8
            switch byte {
            case 48...57: digit = byte - 48
            case 65...70: digit = byte - 55
            case 97...102: digit = byte - 87
            default: throw failure("an escape needs four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
