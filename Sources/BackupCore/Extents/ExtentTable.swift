/// A served file: extents one after the other. Any byte range is found by binary search over their offsets.
public struct ExtentTable: Sendable {
    /// A part of one extent that a byte range touches.
    public struct Slice: Sendable {
        public let extent: Extent
        /// The part's range within the extent.
        public let range: Range<UInt64>
    }

    public private(set) var extents: [Extent] = []
    /// `offsets[i]` is where `extents[i]` starts in the file.
    private var offsets: [UInt64] = []
    /// The file's size in bytes.
    public private(set) var size: UInt64 = 0

    public init() {}

    public init(plainContent pieces: some Sequence<ContentPiece>) {
        for piece in pieces { append(piece) }
    }

    public init(literal bytes: [UInt8]) { append(Extent.literal(bytes)) }

    /// Empty extents are dropped: every offset then belongs to exactly one extent.
    public mutating func append(_ extent: Extent) {
        let length = extent.length
        guard length > 0 else { return }
        extents.append(extent)
        offsets.append(size)
        size += length
    }

    public mutating func append(_ piece: ContentPiece) {
        switch piece {
        case .literal(let bytes): append(Extent.literal(bytes))
        case .chunk(let chunk): append(Extent.plain(chunk, offset: 0, length: chunk.plainLength))
        case .source(let source, let offset, let length): append(Extent.source(source, offset: offset, length: length))
        }
    }

    /// The parts that make up `range`, in order; what lies beyond the end is left out.
    public func slices(in range: Range<UInt64>) -> [Slice] {
        let range = range.clamped(to: 0..<size)
        guard !range.isEmpty else { return [] }
        var slices: [Slice] = []
        var index = self.index(containing: range.lowerBound)
        while index < extents.count, offsets[index] < range.upperBound {
            let start = offsets[index]
            let end = start + extents[index].length
            let part = range.clamped(to: start..<end)
            slices.append(Slice(extent: extents[index], range: part.lowerBound - start..<part.upperBound - start))
            index += 1
        }
        return slices
    }

    /// The last extent that starts at or before `offset`, which lies inside the file.
    private func index(containing offset: UInt64) -> Int {
        var low = 0
        var high = offsets.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if offsets[middle] <= offset { low = middle } else { high = middle }
        }
        return low
    }
}
