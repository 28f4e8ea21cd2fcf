import BackupCore
import Formats

/// The name of a record's folder in `history/`: its key. A byte that no file name can have, or that would hide it, is written as
/// `%` and two hexadecimal digits, and so is `%`.
enum RecordName {
    private static let percent = UInt8(ascii: "%")
    /// Of a text without characters.
    private static let empty = [percent]

    /// - Returns: `nil` for a key that is too long for a name.
    static func of(_ key: JSONKey) -> FileName? {
        switch key {
        case .integer(let number): return FileName(String(number))
        case .text(let bytes):
            let name = escaped(bytes)
            return name.count <= FileName.byteCountLimit ? FileName(bytes: name) : nil
        }
    }

    /// The same for a text that looks like the number that another record of the collection has as its key.
    static func ofText(likeNumber bytes: [UInt8]) -> FileName {
        FileName(bytes: escape(bytes[0]) + escaped(Array(bytes.dropFirst())))
    }

    /// The keys that a name can stand for, the likeliest first.
    static func keys(of name: FileName) -> [JSONKey] {
        let bytes = name.bytes
        var keys: [JSONKey] = []
        if let number = number(bytes) { keys.append(.integer(number)) }
        guard let text = unescaped(bytes), String(validating: text, as: UTF8.self) != nil else { return keys }
        // One name for each key.
        if escaped(text) == bytes || number(text) != nil && ofText(likeNumber: text).bytes == bytes { keys.append(.text(text)) }
        return keys
    }

    /// - Returns: `nil` unless this is how the number is written.
    static func number(_ bytes: [UInt8]) -> Int64? {
        guard let number = Int64(String(decoding: bytes, as: UTF8.self)), String(number).utf8.elementsEqual(bytes) else {
            return nil
        }
        return number
    }

    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        guard !text.isEmpty else { return empty }
        var name: [UInt8] = []
        for (index, byte) in text.enumerated() {
            let isHiding = index == 0 && byte == UInt8(ascii: ".")
            if byte < 32 || byte == 127 || byte == UInt8(ascii: "/") || byte == percent || isHiding {
                name += escape(byte)
            } else {
                name.append(byte)
            }
        }
        return name
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private static func unescaped(_ name: [UInt8]) -> [UInt8]? {
        if name == empty { return [] }
        var text: [UInt8] = []
        var rest = name[...]
        while let byte = rest.popFirst() {
            guard byte == percent else {
                text.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2 else {
                return nil
            }
            text.append(value)
            rest = rest.dropFirst(2)
        }
        return text
    }
}
