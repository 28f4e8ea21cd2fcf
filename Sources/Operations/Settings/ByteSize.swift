import BackupCore

/// Sizes and rates as people write them in settings: `10 MB`, `1.5 GiB`, `4096`.
enum ByteSize {
    private static let units: [(name: String, bytes: UInt64)] = [
        ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20), ("MB", 1_000_000),
        ("KiB", 1 << 10), ("kB", 1_000), ("B", 1),
    ]

    /// A number with a unit, or a number of bytes. Capitals do not matter.
    /// - Throws: `usage` for anything else, and for less than `least`.
    static func parse(_ text: String, least: UInt64) throws(BackupError) -> UInt64 {
        guard let bytes = bytes(text), bytes >= least else {
            throw Setting.unusable(
                text,
                remedy: "Write a size such as 500 kB, 10 MB or 1.5 GiB; the least is \(self.text(least)).")
        }
        return bytes
    }

    private static func bytes(_ text: String) -> UInt64? {
        let digits = text.prefix { "0123456789.".contains($0) }
        let word = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let unit = word.isEmpty ? 1 : units.first(where: { $0.name.lowercased() == word })?.bytes else { return nil }
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = UInt64(parts[0]) else { return nil }
        let (product, isTooLarge) = whole.multipliedReportingOverflow(by: unit)
        guard !isTooLarge else { return nil }
        guard parts.count == 2 else { return product }
        // At most 6 digits: the product with a tebibyte still fits.
        guard unit > 1, (1...6).contains(parts[1].count), var fraction = UInt64(parts[1]) else { return nil }
        for _ in parts[1].utf8.count..<6 { fraction *= 10 }
        let (sum, isAboveAll) = product.addingReportingOverflow(fraction * unit / 1_000_000)
        return isAboveAll ? nil : sum
    }

    /// With the largest unit of which it is a whole number.
    static func text(_ bytes: UInt64) -> String {
        guard bytes > 0, let unit = units.first(where: { bytes.isMultiple(of: $0.bytes) }) else { return "\(bytes) B" }
        return "\(bytes / unit.bytes) \(unit.name)"
    }
}
