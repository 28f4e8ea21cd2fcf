/// A shell pattern for names: `*` matches any text, `?` one character, `[a-z]` one of a set, `[!a-z]` one outside it; `\` makes
/// the next character literal. Case-sensitive. `*` and `?` also match slashes and leading dots.
public struct GlobPattern: Sendable {
    private enum Part: Sendable {
        case character(UInt32)
        case any
        case anyText
        case set(ranges: [ClosedRange<UInt32>], isNegated: Bool)

        func matches(_ character: UInt32) -> Bool {
            switch self {
            case .character(let own): own == character
            case .any: true
            case .anyText: false
            case .set(let ranges, let isNegated): ranges.contains { $0.contains(character) } != isNegated
            }
        }
    }

    private let parts: [Part]

    /// Any text is a pattern: a bracket or backslash that has no meaning is literal.
    public init(_ text: String) {
        var parts: [Part] = []
        var rest = Self.characters(Array(text.utf8))[...]
        // Looking for an end again after each bracket would take the square of the length.
        var mayHaveSets = true
        while let character = rest.popFirst() {
            switch character {
            case 0x2A: if case .anyText = parts.last {} else { parts.append(.anyText) }
            case 0x3F: parts.append(.any)
            case 0x5B:
                let set = mayHaveSets ? Self.takeSet(&rest) : nil
                mayHaveSets = set != nil
                parts.append(set ?? .character(character))
            case 0x5C: parts.append(.character(rest.popFirst() ?? character))
            default: parts.append(.character(character))
            }
        }
        self.parts = parts
    }

    /// Parses the rest after `[`; `nil`, with nothing consumed, when there is no `]`.
    private static func takeSet(_ rest: inout ArraySlice<UInt32>) -> Part? {
        var inner = rest
        let isNegated = inner.first == 0x21 || inner.first == 0x5E
        if isNegated { inner = inner.dropFirst() }
        var ranges: [ClosedRange<UInt32>] = []
        // A bracket that closes nothing is literal.
        while let low = inner.popFirst(), low != 0x5D || ranges.isEmpty {
            if inner.first == 0x2D, let high = inner.dropFirst().first, high != 0x5D {
                inner = inner.dropFirst(2)
                if low <= high { ranges.append(low...high) }
            } else {
                ranges.append(low...low)
            }
            if inner.isEmpty { return nil }
        }
        guard !ranges.isEmpty else { return nil }
        rest = inner
        return .set(ranges: ranges, isNegated: isNegated)
    }

    /// The only name that it matches; `nil` when there can be others.
    public var literal: [UInt8]? {
        var text = String.UnicodeScalarView()
        for part in parts {
            guard case .character(let value) = part, let scalar = Unicode.Scalar(value) else { return nil }
            text.append(scalar)
        }
        return Array(String(text).utf8)
    }

    /// Takes time at most proportional to the product of both lengths, those of sets included.
    public func matches(_ name: [UInt8]) -> Bool {
        let characters = Self.characters(name)
        var (part, position) = (0, 0)
        // Where to resume when the part after the last `*` does not match.
        var retry: (part: Int, position: Int)?
        while position < characters.count {
            if part < parts.count, case .anyText = parts[part] {
                retry = (part + 1, position)
                part += 1
            } else if part < parts.count, parts[part].matches(characters[position]) {
                part += 1
                position += 1
            } else if let last = retry {
                retry = (last.part, last.position + 1)
                (part, position) = (last.part, last.position + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { if case .anyText = $0 { true } else { false } }
    }

    /// The characters of a name. In a name that is not UTF-8, each non-ASCII byte becomes a code point that no text contains.
    private static func characters(_ bytes: [UInt8]) -> [UInt32] {
        if let text = String(validating: bytes, as: UTF8.self) { return text.unicodeScalars.map(\.value) }
        return bytes.map { $0 < 0x80 ? UInt32($0) : 0xDC00 + UInt32($0) }
    }
}
