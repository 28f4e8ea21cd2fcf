import BackupCore
import Synchronization
import SystemIO

/// Receives the chunks of one file once they are named: puts them into order, builds
/// the file's content from them, and decides which of them must be stored. Thread-safe.
final class ContentAssembler: Sendable {
    /// What to do with a chunk.
    enum Verdict: Sendable {
        case isStored
        case store(similar: StoredChunk?)
    }

    /// A chunk with its name.
    struct NamedChunk: Sendable {
        let id: ChunkID
        let share: ByteBudget.Share
        /// 0 where it is not kept.
        var crc32: UInt32 = 0
    }

    private struct State {
        var list: ContentListBuilder
        var base: BaseMatcher?
        /// Chunks that arrived before their predecessors.
        var early: [Int: NamedChunk] = [:]
        var next = 0
        var crc32s: [UInt32] = []
    }

    private let store: ChunkStore
    private let keepsCRC32s: Bool
    private let state: Mutex<State>

    /// - Parameter keepsCRC32s: of each chunk, for `crc32s`.
    init(store: ChunkStore, policy: ChunkingPolicy, base: sending BaseMatcher?, keepsCRC32s: Bool = false) {
        self.store = store
        self.keepsCRC32s = keepsCRC32s
        let list = ContentListBuilder(isPositional: policy.isPositional) { [store] (list, earlier) throws(BackupError) in
            try store.storeList(list, earlier: earlier)
        }
        state = Mutex(State(list: list, base: base))
    }

    /// Takes the next chunk of a file that a single thread reads.
    func append(_ id: ChunkID, length: Int, crc32: UInt32 = 0) throws(BackupError) -> Verdict {
        try state.withLock { (state) throws(BackupError) in
            try take(id, length, crc32, &state)
        }
    }

    /// Of all chunks so far, in order; empty unless they are kept.
    var crc32s: [UInt32] { state.withLock { $0.crc32s } }

    /// Takes chunk number `index`, in any order.
    /// - Returns: the chunks that are now in order and must be stored.
    func insert(
        _ chunk: NamedChunk, at index: Int
    ) throws(BackupError) -> [(chunk: NamedChunk, similar: StoredChunk?)] {
        try state.withLock { (state) throws(BackupError) in
            state.early[index] = chunk
            var result: [(chunk: NamedChunk, similar: StoredChunk?)] = []
            while let chunk = state.early.removeValue(forKey: state.next) {
                state.next += 1
                if case .store(let similar) = try take(chunk.id, chunk.share.bytes.count, chunk.crc32, &state) {
                    result.append((chunk, similar))
                }
            }
            return result
        }
    }

    func finish() throws(BackupError) -> FileContent {
        try state.withLock { (state) throws(BackupError) in try state.list.finish() }
    }

    private func take(
        _ id: ChunkID, _ length: Int, _ crc32: UInt32, _ state: inout State
    ) throws(BackupError) -> Verdict {
        if keepsCRC32s { state.crc32s.append(crc32) }
        var verdict = Verdict.store(similar: nil)
        if state.base != nil, let match = try state.base?.observe(id) {
            switch match {
            case .same(let chunk):
                store.rely(on: chunk)
                verdict = .isStored
            case .similar(let chunk): verdict = .store(similar: chunk)
            case .nothing: break
            }
        }
        try state.list.append(.chunk(id, plainLength: UInt32(length)), earlier: state.base?.list)
        return verdict
    }
}

/// Turns a file's elements, as they arrive, into a content that is short enough for a directory entry: long runs go to content
/// lists, and lists of lists. The end of a list depends only on the chunks' names, so that an edit changes only the lists around
/// it. In a file whose chunks keep their places, the lists keep theirs. Memory does not grow with the file.
struct ContentListBuilder {
    /// A content with at most this many elements is stored inline.
    static let inlineElementLimit = 16
    private static let minimumCount = 32
    private static let maximumCount = 1024
    /// A list ends after an element whose name starts with seven zero bits: after 128 elements on average.
    private static let boundaryMask: UInt8 = 0xfe
    /// The length of lists that keep their places.
    private static let positionalCount = 128

    private let isPositional: Bool
    private var levels: [[FileContent.Element]] = [[]]
    private let store: @Sendable (_ list: [UInt8], _ earlier: ChunkID?) throws(BackupError) -> ChunkID

    /// - Parameters:
    ///   - isPositional: whether the file's chunks keep their places when some of them change.
    ///   - store: stores a list as a metadata chunk; receives the earlier list in its place.
    init(
        isPositional: Bool = false,
        store: @escaping @Sendable (_ list: [UInt8], _ earlier: ChunkID?) throws(BackupError) -> ChunkID
    ) {
        self.isPositional = isPositional
        self.store = store
    }

    /// - Parameter earlier: the list of the file's earlier version that contains the element's place.
    mutating func append(_ element: FileContent.Element, earlier: ChunkID? = nil) throws(BackupError) {
        try append(element, level: 0, earlier)
    }

    mutating func finish() throws(BackupError) -> FileContent {
        var level = 0
        while level < levels.count {
            // The topmost level has never been cut; if it is short, it is the content.
            let isTop = level == levels.count - 1
            if isTop, levels[level].count <= Self.inlineElementLimit { return FileContent(elements: levels[level]) }
            if !levels[level].isEmpty { try cut(level: level) }
            level += 1
        }
        return .empty
    }

    private mutating func append(
        _ element: FileContent.Element, level: Int, _ earlier: ChunkID? = nil
    ) throws(BackupError) {
        levels[level].append(element)
        if isComplete(levels[level]) { try cut(level: level, earlier) }
    }

    private func isComplete(_ list: [FileContent.Element]) -> Bool {
        if isPositional { return list.count == Self.positionalCount }
        guard list.count >= Self.minimumCount, let last = list.last else { return false }
        return list.count >= Self.maximumCount || Self.isBoundary(last)
    }

    private mutating func cut(level: Int, _ earlier: ChunkID? = nil) throws(BackupError) {
        let content = FileContent(elements: levels[level])
        levels[level].removeAll(keepingCapacity: true)
        let id = try store(ContentList.encode(content), earlier)
        if levels.count == level + 1 { levels.append([]) }
        try append(.list(id, plainLength: content.size), level: level + 1)
    }

    private static func isBoundary(_ element: FileContent.Element) -> Bool {
        switch element {
        case .literal: false
        case .chunk(let id, _), .list(let id, _): id.digest.withUnsafeBytes { $0[0] & boundaryMask == 0 }
        }
    }
}

/// Walks an earlier version of a file while the new one is being cut. For each new chunk it reports whether the earlier version
/// has it too, and if not, which old chunk is in its place and may be similar. For one thread at a time; memory does not grow
/// with the file.
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
    /// This many chunks beyond the earlier version's end are reported as similar to its last one: new rows use the same names and
    /// words as the rows before them. It is limited, since compressing against a base takes ten times as long as without one.
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
    /// Whether the rest of the earlier version's lists can be read.
    private var isReadable = true

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

    /// The earlier version may be damaged, or from a later version of this program: then there is nothing more to compare with.
    private mutating func nextElement(_ number: Int) throws(BackupError) -> FileContent.Element? {
        do throws(BackupError) {
            return try rest.next { lists.append((number, $0)) }
        } catch {
            guard error.code == .repositoryDamaged || error.code == .unsupportedVersion else { throw error }
            isReadable = false
            return nil
        }
    }

    /// Reads ahead in the earlier version, several chunks at a time, and drops chunks far behind.
    private mutating func fill() throws(BackupError) {
        guard cursor + 1 > windowStart + window.count, isReadable, !rest.isAtEnd else { return }
        var ids: [ChunkID] = []
        while ids.count < Self.lookAheadCount {
            let number = windowStart + window.count + ids.count
            guard let element = try nextElement(number) else { break }
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
