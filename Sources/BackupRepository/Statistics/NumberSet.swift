/// A set of numbers below a limit, one bit for each.
struct NumberSet {
    private var words: [UInt64]

    init(limit: Int) { words = [UInt64](repeating: 0, count: (limit + 63) / 64) }

    /// - Returns: whether it was newly inserted.
    mutating func insert(_ number: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(number & 63)
        defer { words[number >> 6] |= bit }
        return words[number >> 6] & bit == 0
    }
}
