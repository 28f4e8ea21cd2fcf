import BackupCore

/// Goes along an earlier version of a file while the new one is being cut: tells for each new chunk whether it stands there too, and if not,
/// which old chunk is in its place and may be nearly the same. For one thread at a time; memory does not grow with the file.
struct BaseMatcher {
    enum Match {
        /// The earlier version has this chunk, in an intact pack.
        case same(StoredChunk)
        /// This chunk is in its place in the earlier version, or near it.
        case similar(StoredChunk)
        case nothing
    }

    /// So many of the earlier version's chunks are looked at ahead of the place where the new version is, and remembered behind it.
    private static let lookAheadCount = 256
    /// So many chunks behind the earlier version's end are told to be like its last one: new rows are made of the same names and words as
    /// those before them. No more, since it takes ten times as long to look for words as to compress without.
    private static let countBehindEnd = 512

    private let catalog: Catalog
    /// Pieces keep their places, so an old chunk's number alone tells it: databases.
    private let isPositional: Bool
    /// What was not looked at yet.
    private var rest: ContentWalk
    private var window: [StoredChunk?] = []
    /// The number of `window`'s first chunk in the earlier version.
    private var windowStart = 0
    private var numbers: [ChunkID: Int] = [:]
    /// The content lists in which the window's chunks stand, each with the number of its first.
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

    /// The earlier version's content list in which the chunk stands that was last observed, or that stood in its place.
    var list: ChunkID? { lists.last { $0.first < cursor }?.id }

    /// Reads on in the earlier version, several chunks at a time, and forgets what lies far behind.
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
