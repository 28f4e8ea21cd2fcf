/// A served file: consecutive extents. A binary search over their offsets finds any byte range.
///
/// An archive of 100,000 files has some 200,000 extents, and programs keep it open: the compact form takes about 100 bytes each,
/// plus the literal bytes.
public struct ExtentTable: Sendable {
    /// A part of one extent that a byte range touches.
    public struct Slice: Sendable {
        /// The extent, or the touched part of a literal one.
        public let extent: Extent
        /// The part's range within `extent`.
        public let range: Range<UInt64>
    }

    /// The file's size in bytes.
    public private(set) var size: UInt64 = 0
    /// `offsets[i]` is where extent `i` starts in the file.
    private var offsets: [UInt64] = []
    private var places: [Place] = []
    private var shortLiterals: [UInt8] = []
    private var longLiterals: [[UInt8]] = []
    private var chunks = ChunkList()
    private var sources: [any ByteSource] = []

    /// The content of an extent. Its length is the distance to the next one.
    private struct Place: Sendable {
        enum Kind: UInt8, Sendable { case shortLiteral, longLiteral, plain, stored, source }

        let kind: Kind
        /// The index of its chunk, source or long literal.
        let index: UInt32
        /// Its start in that, or in all the short literals.
        let start: UInt64
    }

    /// Longer ones are kept as separate arrays, and not copied.
    private static let shortLiteralLimitBytes = 4096

    public init() {}

    /// A table of the given pieces in their order, each decoded when it is read.
    public init(plainContent pieces: some Sequence<ContentPiece>) {
        for piece in pieces { append(piece) }
    }

    /// A table of the given bytes alone.
    public init(literal bytes: [UInt8]) { append(Extent.literal(bytes)) }

    /// Frees unused capacity: for a table that is complete and kept.
    public mutating func trim() {
        offsets.trim()
        places.trim()
        shortLiterals.trim()
        chunks.trim()
    }

    /// The number of extents.
    public var count: Int { places.count }

    /// All extents, in order.
    public var extents: [Extent] {
        places.indices.map { slice($0, 0..<length($0)).extent }
    }

    /// Drops empty extents: every offset then belongs to exactly one extent.
    public mutating func append(_ extent: Extent) {
        let length = extent.length
        guard length > 0 else { return }
        offsets.append(size)
        size += length
        switch extent {
        case .literal(let bytes) where bytes.count < Self.shortLiteralLimitBytes:
            places.append(Place(kind: .shortLiteral, index: 0, start: UInt64(shortLiterals.count)))
            shortLiterals += bytes
        case .literal(let bytes):
            places.append(Place(kind: .longLiteral, index: UInt32(longLiterals.count), start: 0))
            longLiterals.append(bytes)
        case .plain(let chunk, let offset, _):
            places.append(Place(kind: .plain, index: chunks.append(chunk), start: UInt64(offset)))
        case .stored(let chunk):
            places.append(Place(kind: .stored, index: chunks.append(chunk), start: 0))
        case .source(let source, let offset, _):
            if sources.last !== source { sources.append(source) }
            places.append(Place(kind: .source, index: UInt32(sources.count - 1), start: offset))
        }
    }

    /// Appends the piece as it is read: decoded, not as it is stored.
    public mutating func append(_ piece: ContentPiece) {
        switch piece {
        case .literal(let bytes): append(Extent.literal(bytes))
        case .chunk(let chunk): append(Extent.plain(chunk, offset: 0, length: chunk.plainLength))
        case .source(let source, let offset, let length): append(Extent.source(source, offset: offset, length: length))
        }
    }

    /// The parts that make up `range`, in order; clamps the range to the file.
    public func slices(in range: Range<UInt64>) -> [Slice] {
        let range = range.clamped(to: 0..<size)
        guard !range.isEmpty else { return [] }
        var slices: [Slice] = []
        var index = self.index(containing: range.lowerBound)
        while index < places.count, offsets[index] < range.upperBound {
            let start = offsets[index]
            let part = range.clamped(to: start..<start + length(index))
            slices.append(slice(index, part.lowerBound - start..<part.upperBound - start))
            index += 1
        }
        return slices
    }

    private func length(_ index: Int) -> UInt64 {
        (index + 1 < offsets.count ? offsets[index + 1] : size) - offsets[index]
    }

    /// Part of an extent. Copies only that part of a literal: it may be a large text, read in many pieces.
    private func slice(_ index: Int, _ part: Range<UInt64>) -> Slice {
        let place = places[index]
        let number = Int(place.index)
        switch place.kind {
        case .shortLiteral: return slice(of: shortLiterals, Int(place.start), part)
        case .longLiteral: return slice(of: longLiterals[number], 0, part)
        case .plain:
            let extent = Extent.plain(chunks[number], offset: UInt32(place.start), length: UInt32(length(index)))
            return Slice(extent: extent, range: part)
        case .stored: return Slice(extent: .stored(chunks[number]), range: part)
        case .source:
            return Slice(extent: .source(sources[number], offset: place.start, length: length(index)), range: part)
        }
    }

    private func slice(of bytes: [UInt8], _ start: Int, _ part: Range<UInt64>) -> Slice {
        let taken = bytes[start + Int(part.lowerBound)..<start + Int(part.upperBound)]
        return Slice(extent: .literal(Array(taken)), range: 0..<UInt64(taken.count))
    }

    /// The last extent that starts at or before `offset`, which is inside the file.
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

/// A piece of a served file. Everything that the tree serves is a list of these (`ExtentTable`).
public enum Extent: Sendable {
    case literal([UInt8])
    /// A part of a chunk's plain bytes.
    case plain(StoredChunk, offset: UInt32, length: UInt32)
    /// All of a chunk's stored bytes, unchanged.
    case stored(StoredChunk)
    case source(any ByteSource, offset: UInt64, length: UInt64)

    /// In bytes of the served file.
    public var length: UInt64 {
        switch self {
        case .literal(let bytes): UInt64(bytes.count)
        case .plain(_, _, let length): UInt64(length)
        case .stored(let chunk): UInt64(chunk.storedLength)
        case .source(_, _, let length): length
        }
    }
}

/// A compact list of chunks: neighbours are in the same pack, and few have a base.
struct ChunkList: Sendable {
    private struct Item: Sendable {
        let id: ChunkID
        let packOffset: UInt64
        let storedLength: UInt32
        let plainLength: UInt32
        let plainCRC32: UInt32
        let storedCRC32: UInt32
        let pack: UInt32
        /// The base's index in `bases` plus one; 0 for none.
        let base: UInt32
        let codec: ChunkCodec
    }

    private var items: [Item] = []
    private var packs: [PackID] = []
    private var bases: [ChunkID] = []

    mutating func trim() {
        items.trim()
        bases.trim()
    }

    /// - Returns: its index. Does not add the last chunk again.
    mutating func append(_ chunk: StoredChunk) -> UInt32 {
        if let last = items.last, last.id == chunk.id, self[items.count - 1] == chunk { return UInt32(items.count - 1) }
        if packs.last != chunk.pack { packs.append(chunk.pack) }
        if let base = chunk.base { bases.append(base) }
        items.append(
            Item(
                id: chunk.id, packOffset: chunk.packOffset, storedLength: chunk.storedLength, plainLength: chunk.plainLength,
                plainCRC32: chunk.plainCRC32, storedCRC32: chunk.storedCRC32, pack: UInt32(packs.count - 1),
                base: chunk.base == nil ? 0 : UInt32(bases.count), codec: chunk.codec))
        return UInt32(items.count - 1)
    }

    subscript(index: Int) -> StoredChunk {
        let item = items[index]
        return StoredChunk(
            id: item.id, pack: packs[Int(item.pack)], packOffset: item.packOffset, storedLength: item.storedLength,
            plainLength: item.plainLength, codec: item.codec, plainCRC32: item.plainCRC32, storedCRC32: item.storedCRC32,
            base: item.base == 0 ? nil : bases[Int(item.base) - 1])
    }
}
