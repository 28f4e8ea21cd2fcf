/// A pattern for file names, as cameras make them: `#` is a digit, `@` a letter, `?` a digit or a letter, `*` any characters, and
/// everything else itself. Card file systems do not distinguish upper and lower case, and neither do patterns.
struct NamePattern: Sendable, ExpressibleByStringLiteral {
    private let bytes: [UInt8]

    init(stringLiteral text: String) { bytes = Self.key(text.utf8) }
    init(_ text: some StringProtocol) { bytes = Self.key(text.utf8) }

    /// A name in the form that patterns are compared with: ASCII letters in upper case.
    static func key(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.map { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") ? $0 - 32 : $0 }
    }

    /// - Parameter name: a key.
    func matches(_ name: [UInt8]) -> Bool {
        var (position, index) = (0, 0)
        // Where to go on when what follows a `*` does not match: the `*` takes one more byte.
        var retry: (position: Int, index: Int)?
        while position < name.count {
            if index < bytes.count, bytes[index] == UInt8(ascii: "*") {
                retry = (position, index)
                index += 1
            } else if index < bytes.count, Self.matches(bytes[index], name[position]) {
                position += 1
                index += 1
            } else if let last = retry {
                retry = (last.position + 1, last.index)
                (position, index) = (last.position + 1, last.index + 1)
            } else {
                return false
            }
        }
        return bytes[index...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    private static func matches(_ pattern: UInt8, _ byte: UInt8) -> Bool {
        let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
        let isLetter = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
        return switch pattern {
        case UInt8(ascii: "#"): isDigit
        case UInt8(ascii: "@"): isLetter
        case UInt8(ascii: "?"): isDigit || isLetter
        default: pattern == byte
        }
    }
}
