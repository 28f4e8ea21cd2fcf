import BackupCore

/// One value that is kept with an object and is not part of its content: `x-amz-meta-NAME` on a server.
public struct ObjectMetadata: Sendable, Equatable {
    /// What S3 keeps of one object at most: names and values together.
    public static let totalLimitBytes = 2048
    /// In small letters, digits and hyphens.
    public let name: String
    /// Any text. On its way, what is no printable ASCII is percent-encoded, and so are `%` and spaces that a server would change.
    public let value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// - Throws: `invalidArgument` for more than S3 keeps.
    static func check(_ metadata: [ObjectMetadata]) throws(BackupError) {
        let sizeBytes = metadata.reduce(0) { $0 + $1.name.utf8.count + encoded($1.value).utf8.count }
        // With room for the mark of a writing.
        guard sizeBytes <= totalLimitBytes - 100 else {
            throw BackupError(.invalidArgument, "an object has too many values beside its content: \(sizeBytes) bytes")
        }
    }

    static func encoded(_ text: String) -> String {
        var result = ""
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            let isPlain =
                byte == 0x20
                ? index > 0 && index + 1 < bytes.count && bytes[index - 1] != 0x20
                : (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%")
            if isPlain {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + Hexadecimal.encode([byte]).uppercased()
            }
        }
        return result
    }

    /// What is no escape stays as it is: other programs write values as well.
    static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, bytes[index + 1] != UInt8(ascii: "+"),
                let value = UInt8(String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
            {
                result.append(value)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(validating: result, as: UTF8.self) ?? text
    }
}
