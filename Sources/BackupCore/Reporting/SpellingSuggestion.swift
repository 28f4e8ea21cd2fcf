/// Finds the intended word for an unknown one.
public enum SpellingSuggestion {
    /// - Returns: the known word closest to `word`, if it is close: one letter in three may be wrong, missing, extra, or
    ///   swapped with its neighbour; a word of three letters or more may be just a prefix. Ignores case.
    public static func nearest(to word: String, among known: [String]) -> String? {
        let written = Array(word.lowercased().utf8)
        guard !written.isEmpty, written.count <= 64 else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in known {
            let letters = Array(candidate.lowercased().utf8)
            var distance = distance(written, letters)
            if written.count >= 3, letters.starts(with: written) { distance = min(distance, 1) }
            guard distance <= max(1, max(written.count, letters.count) / 3), distance < best?.distance ?? .max else { continue }
            best = (candidate, distance)
        }
        return best?.word
    }

    /// The optimal string alignment distance: like Levenshtein's, with swapped neighbours counted once.
    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for row in 0..<first.count {
            var current = [row + 1]
            for column in 0..<second.count {
                let cost = first[row] == second[column] ? 0 : 1
                var best = min(last[column + 1] + 1, current[column] + 1, last[column] + cost)
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            beforeLast = last
            last = current
        }
        return last[second.count]
    }
}
