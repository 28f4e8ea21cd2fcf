/// Takes an input apart from its beginning; what is asked for behind its end is zero or empty.
struct FuzzFeed {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number16() -> UInt16 { UInt16(byte()) | UInt16(byte()) << 8 }

    mutating func number32() -> UInt32 { UInt32(number16()) | UInt32(number16()) << 16 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
