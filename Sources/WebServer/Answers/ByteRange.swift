/// The header `Range` (RFC 9110, section 14): one range of bytes. Several, and other units, are answered with the whole file.
enum ByteRange: Equatable {
    case whole
    case part(Range<UInt64>)
    case unsatisfiable

    /// - Parameter size: of the file, in bytes.
    init(_ header: String?, size: UInt64) {
        self = Self.parse(header, size) ?? .whole
    }

    private static func parse(_ header: String?, _ size: UInt64) -> ByteRange? {
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else { return nil }
        let ends = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            // The last bytes.
            guard let count = number(ends[1]) else { return nil }
            return count == 0 || size == 0 ? .unsatisfiable : .part(size - min(count, size)..<size)
        }
        guard let first = number(ends[0]) else { return nil }
        var last = UInt64.max
        if !ends[1].isEmpty {
            guard let given = number(ends[1]), given >= first else { return nil }
            last = given
        }
        return first >= size ? .unsatisfiable : .part(first..<min(last, size - 1) + 1)
    }

    private static func number(_ text: Substring) -> UInt64? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? UInt64(text) : nil
    }
}
