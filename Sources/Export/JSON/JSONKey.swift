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
