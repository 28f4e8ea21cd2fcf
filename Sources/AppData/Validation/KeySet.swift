import BackupCore

/// The keys of a collection. Integers in ascending order, as in exports, cost next to nothing: runs are stored as ranges, and only keys out of order
/// individually. A class, so that queries neither copy nor count references.
final class KeySet {
    private var ranges: [ClosedRange<Int64>] = []
    private var outliers: Set<Int64> = []
    private var texts: Set<[UInt8]> = []

    /// - Returns: false when it already exists.
    func insert(_ key: Int64) -> Bool {
        guard let last = ranges.last else {
            ranges.append(key...key)
            return true
        }
        if key > last.upperBound {
            if key - 1 == last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound...key
            } else {
                ranges.append(key...key)
            }
            // An outlier was below the end of the ranges when inserted, so it cannot be above it now.
            return true
        }
        return isInRanges(key) ? false : outliers.insert(key).inserted
    }

    func insert(_ key: [UInt8]) -> Bool { texts.insert(key).inserted }

    func contains(_ key: Int64) -> Bool { isInRanges(key) || outliers.contains(key) }

    func contains(_ key: FieldValue) -> Bool {
        switch key {
        case .integer(let number): contains(number)
        case .text(let bytes): texts.contains(bytes)
        default: false
        }
    }

    private func isInRanges(_ key: Int64) -> Bool {
        let place = ranges.partitioningIndex { $0.upperBound >= key }
        return place < ranges.count && ranges[place].contains(key)
    }
}
