/// A part of a date or of a time of day in a `CalendarExpression`: any number, or one of a set.
struct CalendarField: Sendable, Equatable {
    private struct Part: Equatable {
        let range: ClosedRange<Int>
        let step: Int
    }

    private let parts: [Part]

    /// Parses `*`, `5`, `1..5`, `0/15` (from 0 on, every 15th), and comma-separated lists of these.
    /// - Returns: `nil` for anything else, or a number outside of `range`.
    init?(parsing text: some StringProtocol, in range: ClosedRange<Int>) {
        var parts: [Part] = []
        for piece in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = piece.split(separator: "/", omittingEmptySubsequences: false)
            guard halves.count <= 2, let values = Self.values(Substring(halves[0]), in: range, isOpen: halves.count == 2) else {
                return nil
            }
            var step = 1
            if halves.count == 2 {
                guard let number = Self.number(Substring(halves[1])), (1...range.upperBound).contains(number) else { return nil }
                step = number
            }
            parts.append(Part(range: values, step: step))
        }
        self.parts = parts
    }

    /// - Parameter isOpen: whether a single number means all numbers from it on.
    private static func values(_ text: Substring, in range: ClosedRange<Int>, isOpen: Bool) -> ClosedRange<Int>? {
        if text == "*" { return range }
        let ends = text.split(separator: "..", omittingEmptySubsequences: false)
        guard ends.count <= 2, let first = number(ends[0]), range.contains(first) else { return nil }
        guard ends.count == 2 else { return isOpen ? first...range.upperBound : first...first }
        guard let last = number(ends[1]), range.contains(last), first <= last else { return nil }
        return first...last
    }

    private static func number(_ text: some StringProtocol) -> Int? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    func contains(_ number: Int) -> Bool {
        parts.contains { $0.range.contains(number) && (number - $0.range.lowerBound).isMultiple(of: $0.step) }
    }
}
