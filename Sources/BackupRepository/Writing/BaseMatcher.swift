import BackupCore

/// Walks an earlier version of a file while the new one is being cut. For each new chunk it reports whether the earlier version has it too, and if not, which
/// old chunk is in its place and may be similar. For one thread at a time; memory does not grow with the file.
struct BaseMatcher {
    enum Match {
        /// The earlier version has this chunk, in an intact pack.
        case same(StoredChunk)
        /// This chunk is at or near its place in the earlier version.
        case similar(StoredChunk)
        case nothing
    }

    /// The number of the earlier version's chunks to read ahead; some multiples of it are remembered.
    private static let lookAheadCount = 256
    /// This many chunks beyond the earlier version's end are reported as similar to its last one: new rows use the same names and words as the rows before
    /// them. It is limited, since compressing against a base takes ten times as long as without one.
    private static let countBehindEnd = 512

    private let catalog: Catalog
    /// Pieces keep their places, so an old chunk is identified by its number alone: databases.
    private let isPositional: Bool
    /// The chunks not read yet.
    private var rest: ContentWalk
    private var window: [StoredChunk?] = []
    /// The number of `window`'s first chunk in the earlier version.
    private var windowStart = 0
    private var numbers: [ChunkID: Int] = [:]
    /// The content lists that the window's chunks are in, each with the number of its first chunk.
    private var lists: [(first: Int, id: ChunkID)] = []
    private var cursor = 0

    init(earlier content: FileContent, policy: ChunkingPolicy, catalog: Catalog, resolver: ContentResolver) {
        self.catalog = catalog
        isPositional = policy.isPositional
        rest = ContentWalk(content, resolver)
    }

    /// - Parameter id: the next chunk of the new version.
    mutating func observe(_ id: ChunkID) throws(BackupError) -> Match {
        try fill()
        let here = cursor
        if let number = numbers[id], let chunk = window[number - windowStart] {
            cursor = isPositional ? here + 1 : number + 1
            return .same(chunk)
        }
        cursor += 1
        let place = here - windowStart
        guard !window.isEmpty, place >= 0, place < window.count + Self.countBehindEnd,
            let chunk = window[min(place, window.count - 1)]
        else { return .nothing }
        return .similar(chunk)
    }

    /// The earlier version's content list that contains the chunk last observed, or the one in its place.
    var list: ChunkID? { lists.last { $0.first < cursor }?.id }

    /// Reads ahead in the earlier version, several chunks at a time, and drops chunks far behind.
    private mutating func fill() throws(BackupError) {
        guard cursor + 1 > windowStart + window.count, !rest.isAtEnd else { return }
        var ids: [ChunkID] = []
        while ids.count < Self.lookAheadCount {
            let number = windowStart + window.count + ids.count
            guard let element = try rest.next({ lists.append((number, $0)) }) else { break }
            if case .chunk(let id, _) = element { ids.append(id) }
        }
        for chunk in try catalog.findIntact(ids) {
            if let chunk, numbers[chunk.id] == nil { numbers[chunk.id] = windowStart + window.count }
            window.append(chunk)
        }
        let excess = window.count - 3 * Self.lookAheadCount
        guard excess > 0 else { return }
        for (offset, chunk) in window[..<excess].enumerated() {
            if let chunk, numbers[chunk.id] == windowStart + offset { numbers[chunk.id] = nil }
        }
        window.removeFirst(excess)
        windowStart += excess
        while lists.count > 1, lists[1].first <= windowStart { lists.removeFirst() }
    }
}
