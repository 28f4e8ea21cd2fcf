/// Arithmetic with untrusted numbers from files: saturates at the end of the range, where `+` and similar operators would end the
/// process.
extension FixedWidthInteger {
    /// The sum, or the end of the range that it is beyond.
    public func addingSaturating(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }

    /// The difference, or the nearest value that the type can hold.
    public func subtractingSaturating(_ other: Self) -> Self {
        let (difference, overflows) = subtractingReportingOverflow(other)
        guard overflows else { return difference }
        return other > 0 ? .min : .max
    }

    /// The product, or the nearest value that the type can hold.
    public func multipliedSaturating(by other: Self) -> Self {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        guard overflows else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}

extension Array {
    /// Frees unused capacity. An array that grew may have twice the capacity it needs; only a copy can release it.
    public mutating func trim() {
        guard capacity > count + count / 8 else { return }
        self = [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            _ = buffer.initialize(from: self)
            initializedCount = count
        }
    }
}

extension RandomAccessCollection {
    /// Binary search: the first position whose element belongs to the second part; `endIndex` when none does.
    /// - Parameter belongsInSecondPartition: false for all elements before some position, and true from there on.
    @inlinable
    public func partitioningIndex(where belongsInSecondPartition: (Element) -> Bool) -> Index {
        var low = startIndex
        var remainingCount = count
        while remainingCount > 0 {
            let half = remainingCount / 2
            let middle = index(low, offsetBy: half)
            if belongsInSecondPartition(self[middle]) {
                remainingCount = half
            } else {
                low = index(after: middle)
                remainingCount -= half + 1
            }
        }
        return low
    }
}
