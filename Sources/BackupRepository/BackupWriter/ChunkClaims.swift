import BackupCore
import Synchronization

/// The chunks that a backup is storing, or that are in packs which the catalog does not know yet: no other thread stores them.
/// They are divided by their names, so that threads seldom wait for one another.
final class ChunkClaims: Sendable {
    private final class Part: Sendable {
        let ids = Mutex<Set<ChunkID>>([])
    }

    /// A power of two.
    private static let partCount = 16

    private let parts = (0..<partCount).map { _ in Part() }

    private func part(of id: ChunkID) -> Part {
        parts[Int(truncatingIfNeeded: DigestKey(id.digest).words.0) & (Self.partCount - 1)]
    }

    /// - Returns: whether the chunk was not claimed.
    func claim(_ id: ChunkID) -> Bool { part(of: id).ids.withLock { $0.insert(id).inserted } }

    func release(_ id: ChunkID) { part(of: id).ids.withLock { _ = $0.remove(id) } }

    func contains(_ id: ChunkID) -> Bool { part(of: id).ids.withLock { $0.contains(id) } }

    /// Visits all chunks that are claimed before the call and not released during it.
    func forEach(_ body: (ChunkID) -> Void) {
        for part in parts { part.ids.withLock { $0.forEach(body) } }
    }
}

/// Recognises chunks that are certainly not in the repository, so that they need no look-up. It begins to do so once a backup has
/// looked for many: for smaller ones that would not pay.
final class NewChunks: Sendable {
    /// A backup with more look-ups builds a filter.
    private static let filterThreshold = 512
    /// The number of new chunks that the filter has space for.
    private static let expectedNewCount = 1 << 20

    private let catalog: Catalog
    private let claims: ChunkClaims
    private let lookUpCount = Atomic<Int>(0)
    private let filter = AtomicLazyReference<ChunkFilter>()
    /// Until then the filter only knows this backup's chunks.
    private let isFilterFilled = Atomic<Bool>(false)

    init(_ catalog: Catalog, _ claims: ChunkClaims) {
        self.catalog = catalog
        self.claims = claims
    }

    /// - Parameter id: a chunk that the caller has claimed.
    /// - Returns: false for a chunk that is certainly not in the repository.
    func mayBeStored(_ id: ChunkID) throws(BackupError) -> Bool {
        guard let filter = filter.load() else {
            if lookUpCount.add(1, ordering: .relaxed).newValue == Self.filterThreshold { try makeFilter() }
            return true
        }
        let isFilled = isFilterFilled.load(ordering: .acquiring)
        defer { filter.insert(id) }
        return !isFilled || filter.mayContain(id)
    }

    /// Other threads continue without the filter meanwhile, and insert what they store.
    private func makeFilter() throws(BackupError) {
        let count = try catalog.chunkRowCount()
        let filter = filter.storeIfNil(ChunkFilter(expectedCount: count + Self.expectedNewCount))
        // Chunks in packs that are published while the catalog is read must not be missed: a thread that did not find the filter
        // had claimed its chunk before.
        claims.forEach { filter.insert($0) }
        try catalog.fill(filter)
        isFilterFilled.store(true, ordering: .releasing)
    }
}
