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
