import BackupCore
import Synchronization
import SystemIO

/// Chunks that new backups may rely on. SQLite does not notice when the pages of a catalog are from two points in time, as after
/// a torn write or beside the write-ahead log of another copy. So an entry that a backup relies on is compared with the pack's
/// own index.
extension Catalog {
    /// The chunk, if it is in a pack that new backups may rely on. If it needs a base, that must be in such a pack too.
    /// - Throws: `repositoryDamaged` when the catalog disagrees with a pack.
    func findIntact(_ id: ChunkID) throws(BackupError) -> StoredChunk? { try findIntact([id])[0] }

    /// The chunks, in the order of `ids`; `nil` for those that are in no pack that new backups may rely on.
    /// - Parameter table: where they are looked for first.
    /// - Throws: `repositoryDamaged` when the catalog disagrees with a pack.
    func findIntact(_ ids: [ChunkID], in table: ChunkTable? = nil) throws(BackupError) -> [StoredChunk?] {
        guard !ids.isEmpty else { return [] }
        let avoided = avoidedPacks
        guard let table else {
            return try readTogether(ids.count) { (database) throws(BackupError) in
                let query = try ChunkQuery(database, protection)
                return try ChunkQuery.inTableOrder(ids) { (id) throws(BackupError) in
                    try intact(id, avoiding: avoided, query.run)
                }
            }
        }
        var found = try ids.map { (id) throws(BackupError) in try intact(id, avoiding: avoided, table.run) }
        let missing = found.indices.filter { found[$0] == nil }
        for (index, chunk) in zip(missing, try findIntact(missing.map { ids[$0] })) { found[index] = chunk }
        return found
    }

    /// The chunk in a usable place, where it is whole if there is such a place.
    /// - Parameter look: calls a function for each place where a chunk is stored.
    private func intact(
        _ id: ChunkID, avoiding avoided: Set<PackID>,
        _ look: (ChunkID, (StoredChunk) throws(BackupError) -> Void) throws(BackupError) -> Void
    ) throws(BackupError) -> StoredChunk? {
        var whole: StoredChunk?
        var deltas: [StoredChunk] = []
        try look(id) { (chunk) throws(BackupError) in
            guard !avoided.contains(chunk.pack), try isInPack(chunk) else { return }
            if chunk.base == nil { whole = whole ?? chunk } else { deltas.append(chunk) }
        }
        if let whole { return whole }
        for delta in deltas {
            guard let base = delta.base else { continue }
            var isBaseIntact = false
            try look(base) { (chunk) throws(BackupError) in
                if chunk.base == nil, !avoided.contains(chunk.pack), try isInPack(chunk) { isBaseIntact = true }
            }
            if isBaseIntact { return delta }
        }
        return nil
    }

    /// Whether the chunk's pack can be read, and holds the chunk where the catalog says.
    func isInPack(_ chunk: StoredChunk) throws(BackupError) -> Bool {
        guard let rows = try rows(of: chunk.pack) else { return false }
        guard rows.contains(chunk) else {
            throw Self.difference(
                from: chunk.pack, path: path,
                remedy: "Run the command again. If it says this again, rebuild the catalog with: backupfs check --repair")
        }
        return true
    }

    /// Whether new backups may rely on all that is in packs: they are there, are what their names say, and stay.
    func areIntact(_ packs: Set<PackID>) throws(BackupError) -> Bool {
        guard packs.isDisjoint(with: avoidedPacks) else { return false }
        for pack in packs {
            guard try rows(of: pack) != nil else { return false }
        }
        return true
    }

    /// What the index of a pack has; `nil` if it cannot be read, or is not the one that the pack's name says.
    private func rows(of pack: PackID) throws(BackupError) -> PackVerifications.Rows? {
        try proofs.rows(of: pack, path: { layout.packPath(of: pack) }) { () throws(BackupError) in try readIndex(pack)?.index }
    }

    /// Packs that new backups must not rely on.
    private var avoidedPacks: Set<PackID> { doomedPacks.withLock { $0 }.union(damagedPacks.keys) }

    static func difference(from pack: PackID, path: String, remedy: Message) -> BackupError {
        BackupError(
            .repositoryDamaged, "the catalog says something else of pack \(pack) than the pack itself", path: path,
            remedy: remedy)
    }
}

/// The indexes of packs, for a writer that is about to rely on catalog rows. Eight bytes for each chunk.
final class PackVerifications: Sendable {
    /// The rows that the catalog must have for a pack.
    struct Rows {
        /// `CatalogRowSum` of each, sorted.
        private let sums: [UInt64]

        init(_ index: PackIndex, of pack: PackID) { sums = index.storedChunks(in: pack).map(CatalogRowSum.of).sorted() }

        func contains(_ chunk: StoredChunk) -> Bool {
            let sum = CatalogRowSum.of(chunk)
            let position = sums.partitioningIndex { $0 >= sum }
            return position < sums.count && sums[position] == sum
        }
    }

    private struct Proof {
        /// The pack's status when its index was read.
        let file: FileStatus
        /// `nil` for a pack that cannot be read.
        let rows: Rows?
        /// The round in which the file was last checked.
        var round: Int
    }

    private struct State {
        var round = 0
        var readCount = 0
        var proofs: [PackID: Proof] = [:]
    }

    private let state = Mutex(State())

    /// How many indexes were read; for tests.
    var readCount: Int { state.withLock { $0.readCount } }

    /// Starts a new round: each pack's file is checked once more. Packs that could not be read are read again.
    func begin() {
        state.withLock { state in
            state.round += 1
            state.proofs = state.proofs.filter { $0.value.rows != nil }
        }
    }

    /// - Parameters:
    ///   - path: of the pack's file. Asked for once in a round, while this is called for each chunk.
    ///   - read: reads the pack's index; `nil` when it cannot be read.
    /// - Returns: `nil` for a pack that is gone or unreadable.
    func rows(
        of pack: PackID, path: () -> String, _ read: () throws(BackupError) -> PackIndex?
    ) throws(BackupError) -> Rows? {
        let (round, known) = state.withLock { ($0.round, $0.proofs[pack]) }
        if let known, known.round == round { return known.rows }
        guard let file = try FileSystem.look(path()) else { return nil }
        var proof: Proof
        if let known, known.file == file {
            proof = known
            proof.round = round
        } else {
            proof = Proof(file: file, rows: try read().map { Rows($0, of: pack) }, round: round)
            state.withLock { $0.readCount += 1 }
        }
        state.withLock { $0.proofs[pack] = proof }
        return proof.rows
    }
}

/// Rules out most chunks that are not in the repository without asking the catalog (a Bloom filter): a catalog query for each new
/// chunk would take longer than storing it. It has no false negatives. Several threads may use it concurrently.
///
/// Source: B. Bloom, *Space/Time Trade-offs in Hash Coding with Allowable Errors*, CACM 13 (1970). With 16 bits and four probes
/// for each chunk, the false positive rate is one in 400.
///
/// `@unchecked Sendable`: the words are atomic.
final class ChunkFilter: @unchecked Sendable {
    private static let bitsPerChunk = 16
    private static let largestBitCount = 1 << 29

    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let bitCount: Int

    /// - Parameter expectedCount: number of chunks to insert; more make the filter less effective, not wrong. It takes two bytes
    ///   for each, 64 MiB at most.
    init(expectedCount: Int) {
        var bitCount = 1 << 16
        while bitCount < expectedCount * Self.bitsPerChunk, bitCount < Self.largestBitCount { bitCount *= 2 }
        self.bitCount = bitCount
        words = .allocate(capacity: bitCount / 64)
        for index in 0..<bitCount / 64 { (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        words.deinitialize(count: bitCount / 64)
        words.deallocate()
    }

    func insert(_ id: ChunkID) { insert(DigestKey(id.digest)) }

    func insert(_ key: DigestKey) {
        forEachBit(key) { word, mask in
            words[word].bitwiseOr(mask, ordering: .relaxed)
            return true
        }
    }

    /// - Returns: false only for a chunk that was never inserted.
    func mayContain(_ id: ChunkID) -> Bool {
        forEachBit(DigestKey(id.digest)) { word, mask in words[word].load(ordering: .relaxed) & mask != 0 }
    }

    /// The digest's own bits are as good as any hash of them.
    /// - Returns: whether `body` was true for all four.
    @discardableResult
    private func forEachBit(_ key: DigestKey, _ body: (_ word: Int, _ mask: UInt64) -> Bool) -> Bool {
        func visit(_ number: Int64) -> Bool {
            let bit = Int(truncatingIfNeeded: number) & (bitCount - 1)
            return body(bit >> 6, 1 << UInt64(bit & 63))
        }
        return visit(key.words.0) && visit(key.words.1) && visit(key.words.2) && visit(key.words.3)
    }
}
