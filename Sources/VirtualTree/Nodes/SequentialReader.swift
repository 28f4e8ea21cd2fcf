/// Finds out whether a file is read from its beginning to its end, and what will be read next.
struct SequentialReader: Sendable {
    /// How far ahead of a sequential reader the disk should be, in bytes.
    private static let distanceBytes: UInt64 = 8 << 20
    /// The kernel has several requests under way, which come in any order.
    private static let toleranceBytes: UInt64 = 2 << 20
    /// So much must have been read in order before anything is read ahead: the head of a file is often all that is looked at.
    private static let beginningBytes: UInt64 = 256 << 10

    private var end: UInt64 = 0
    private var sequentialBytes: UInt64 = 0
    private var expectedEnd: UInt64 = 0

    /// Notes a read.
    /// - Returns: what to fetch now, which was not said before; `nil` when there is nothing, or when reads go here and there.
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
        // In halves, so that not every read asks.
        let start = max(end, expectedEnd)
        guard start < size, start < end + Self.distanceBytes / 2 else { return nil }
        expectedEnd = min(size, end + Self.distanceBytes)
        return start..<expectedEnd
    }
}
