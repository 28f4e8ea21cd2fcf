import BackupCore
import SystemIO

/// Requests chunks of packs that lie elsewhere before they are read, so that transfers are few and long, and go on while earlier
/// chunks are written. One thread uses it.
struct PackRequests {
    /// How much of a pack is requested at once.
    private static let requestLimitBytes: UInt64 = 8 << 20
    /// Transferring a gap of this size between two wanted chunks costs less than another request.
    private static let gapLimitBytes: UInt64 = 256 << 10
    /// Between large chunks, a gap may be larger: a backup reads several files at once, so their chunks are beside each other,
    /// and those files may be wanted next.
    private static let largeGapLimitBytes: UInt64 = 1 << 20

    private let chunks: [StoredChunk]
    private let expect: (PackID, Range<UInt64>) -> Void
    /// How much longer a chunk is in a pack than its stored bytes.
    private let overheadByteCount: Int
    /// The chunks of the last request.
    private var last = 0..<0

    /// - Parameters:
    ///   - chunks: in the order in which they will be read.
    ///   - expect: begins a transfer, and returns immediately.
    init(_ chunks: [StoredChunk], overheadByteCount: Int, expect: @escaping (PackID, Range<UInt64>) -> Void) {
        self.chunks = chunks
        self.overheadByteCount = overheadByteCount
        self.expect = expect
    }

    /// Begins the transfer of what follows, as soon as a chunk of the last request is reached. Errors are left to the reads.
    mutating func reach(_ index: Int) {
        // What was skipped is not wanted.
        if index > last.upperBound { last = index..<index }
        while index >= last.lowerBound, last.upperBound < chunks.count { requestNext() }
    }

    private mutating func requestNext() {
        let first = last.upperBound
        let (pack, start) = (chunks[first].pack, chunks[first].packOffset)
        var (next, end) = (first, start)
        var (wanted, gaps): (UInt64, UInt64) = (0, 0)
        while next < chunks.count, chunks[next].pack == pack, chunks[next].packOffset >= start {
            let gap = chunks[next].packOffset > end ? chunks[next].packOffset - end : 0
            // At most half of a transfer is not wanted, beside small gaps.
            guard gap <= Self.gapLimitBytes || gap <= Self.largeGapLimitBytes && gaps + gap <= wanted else { break }
            let chunkEnd = chunks[next].packOffset.addingSaturating(
                UInt64(chunks[next].storedLength) + UInt64(overheadByteCount))
            guard next == first || chunkEnd <= start.addingSaturating(Self.requestLimitBytes) else { break }
            end = max(end, chunkEnd)
            wanted += UInt64(chunks[next].storedLength)
            gaps += gap
            next += 1
        }
        last = first..<next
        // The chunk that is read first is about to be transferred by its reader.
        if first > 0 || next > 1 { expect(pack, start..<end) }
    }
}
