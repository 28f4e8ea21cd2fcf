import BackupCore

/// The keys of a collection. Whole numbers in ascending order, as exports have them, cost next to nothing: runs are kept as
/// ranges, and only what comes out of order is kept one by one. A class, so that nothing is copied or counted to ask it.
final class KeySet {
    private var ranges: [ClosedRange<Int64>] = []
    private var outliers: Set<Int64> = []
    private var texts: Set<[UInt8]> = []

    /// - Returns: false when it was there already.
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
            // An outlier is below the ranges' end at its time, so it cannot be above it now.
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
