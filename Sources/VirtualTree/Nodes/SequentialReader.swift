/// Detects whether a file is read sequentially, and what will be read next.
struct SequentialReader: Sendable {
    /// How far ahead of a sequential reader to prefetch, in bytes.
    private static let distanceBytes: UInt64 = 8 << 20
    /// The kernel keeps several requests in flight, which arrive in any order.
    private static let toleranceBytes: UInt64 = 2 << 20
    /// This much must have been read sequentially before anything is prefetched: often only the head of a file is read.
    private static let beginningBytes: UInt64 = 256 << 10

    private var end: UInt64 = 0
    private var sequentialBytes: UInt64 = 0
    private var expectedEnd: UInt64 = 0

    /// Records a read.
    /// - Returns: the range to prefetch now, without what was returned before; `nil` when there is none, or when reads are random.
    mutating func next(after offset: UInt64, count: Int, size: UInt64) -> Range<UInt64>? {
        let readEnd = min(size, offset + UInt64(count))
        let isNear = offset <= end + Self.toleranceBytes && offset + Self.toleranceBytes >= end
        guard isNear else {
            end = readEnd
            expectedEnd = 0
            sequentialBytes = 0
            return nil
        }
        end = max(end, readEnd)
        sequentialBytes += UInt64(count)
        guard sequentialBytes >= Self.beginningBytes else { return nil }
        // In halves, so that not every read triggers a prefetch.
        let start = max(end, expectedEnd)
        guard start < size, start < end + Self.distanceBytes / 2 else { return nil }
        expectedEnd = min(size, end + Self.distanceBytes)
        return start..<expectedEnd
    }
}
