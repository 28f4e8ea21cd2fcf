import BackupCore
import SQLite
import Synchronization
import SystemIO

/// Where every chunk is stored. It holds nothing that the packs do not hold themselves: a missing, damaged or foreign catalog is
/// rebuilt from them, and `reconcile` notices packs that appear or vanish.
///
/// It is not encrypted. In an encrypted repository, the names of chunks are keyed, and their checksums are masked here.
final class Catalog: Sendable {
    /// How thoroughly it is compared with the packs.
    enum Comparison: Sendable {
        /// Which packs exist: every command needs this.
        case names
        /// Their lengths as well: before an operation relies on them.
        case lengths
    }

    let layout: RepositoryLayout
    private let opening: CatalogOpening
    let protection: RepositoryProtection
    private let opened: Mutex<OpenCatalog>
    /// Packs that cannot be read completely, and why. Their chunks are still found, but no backup relies on them.
    private let damaged = Mutex<[PackID: BackupError]>([:])
    /// Packs that a prune is going to remove. Their chunks are found, but no backup relies on them.
    let doomedPacks = Mutex<Set<PackID>>([])
    /// The indexes of the packs that a writer relies on.
    let proofs = PackVerifications()
    /// How often the packs may still be searched for a chunk that the catalog does not know: each search reads all of their
    /// indexes.
    private let remainingInquiries = Mutex(16)
    /// The state of packs and catalog when they were last compared.
    private let lastComparison = Mutex<(folders: PackFolderVersions, table: [Int64])?>(nil)
    private let comparisons = Mutex(0)
    private let replacements = Mutex(0)
    /// Why the existing file was unusable; it has been rebuilt in that case.
    private let replacementReason = Mutex<BackupError?>(nil)

    /// Opens the catalog and reconciles it with the packs that exist.
    init(
        layout: RepositoryLayout, repositoryID: String, places: CatalogLocations, protection: RepositoryProtection
    ) throws(BackupError) {
        self.layout = layout
        self.protection = protection
        opening = CatalogOpening(repositoryID: repositoryID, places: places)
        let (catalog, reason) = try opening.open()
        opened = Mutex(catalog)
        replacementReason.withLock { $0 = reason }
        do {
            try reconcile(.names)
        } catch {
            // Damage shows up when tables are read, not when the file is opened.
            guard error.code == .repositoryDamaged, reason == nil else { throw error }
            replacementReason.withLock { $0 = error }
            try replace()
            try reconcile(.names)
        }
        opening.removeOutdated(opened.withLock { $0 })
    }

    /// How often packs and catalog were compared; for tests.
    var comparisonCount: Int { comparisons.withLock { $0 } }

    /// How often it was replaced by an empty one.
    var replacementCount: Int { replacements.withLock { $0 } }

    /// The catalog's file, for messages.
    var path: String { opened.withLock { $0.path } }

    /// Why the catalog had to be rebuilt when it was opened; `nil` when it was whole or absent.
    var damage: BackupError? { replacementReason.withLock { $0 } }

    /// Replaces the catalog by an empty one.
    func replace() throws(BackupError) {
        try layout.requireOpened()
        let fresh = try opening.replace(opened.withLock { $0 })
        opened.withLock { $0 = fresh }
        replacements.withLock { $0 += 1 }
    }

    /// Releases a file that another process has removed or replaced, and opens the one that is there now.
    private func reopenIfMoved() throws(BackupError) {
        let old = opened.withLock { $0 }
        guard try old.hasMoved() else { return }
        // The disk may have been exchanged: a new file would be created in a foreign repository.
        try layout.requireOpened()
        let (fresh, _) = try opening.open()
        opened.withLock { $0 = fresh }
    }

    private var current: OpenCatalog { opened.withLock { $0 } }

    /// Reads with single statements. Each of them sees a consistent state, so no transaction is needed.
    func read<Result>(_ body: (DatabaseConnection) throws(BackupError) -> Result) throws(BackupError) -> Result {
        try current.connections.read(body)
    }

    /// Reads with many statements in one transaction: taking SQLite's locks for each statement would cost as much as the
    /// statement.
    func readTogether<Result>(
        _ count: Int, _ body: (DatabaseConnection) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let connections = current.connections
        return count > 2 ? try connections.readTogether(body) : try connections.read(body)
    }

    func write<Result>(_ body: (DatabaseConnection) throws(BackupError) -> Result) throws(BackupError) -> Result {
        try current.connections.write(body)
    }
}

// MARK: - Finding chunks

extension Catalog {
    /// Where the chunks are, in the order of `ids`. A chunk that the catalog does not know is searched for in the packs.
    /// - Throws: `repositoryDamaged` when a chunk is in no pack.
    func locate(_ ids: [ChunkID]) throws(BackupError) -> [StoredChunk] {
        do {
            let found = try lookUpAll(ids)
            if let complete = Self.complete(found) { return complete }
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            try replace()
        }
        // After the loss of a pack this runs for each of its chunks, so the packs are listed only if something may have changed.
        if try !isInLine() { try reconcile() }
        var found = try lookUpAll(ids)
        // In an object storage, a pack may be in no batch of indexes, and so unknown here.
        if let source = layout.packSource, Self.complete(found) == nil, try source.findPacks() {
            try reconcile()
            found = try lookUpAll(ids)
        }
        // The catalog claims to know every pack. Usually the snapshot has been removed in the meantime; but if the catalog is
        // wrong, believe the packs.
        if try isInAnyPack(Set(zip(ids, found).filter { $0.1 == nil }.map(\.0))) {
            try replace()
            try reconcile()
            found = try lookUpAll(ids)
        }
        if let complete = Self.complete(found) { return complete }
        let missing = zip(ids, found).first { $0.1 == nil }?.0
        throw BackupError(
            .repositoryDamaged, "chunk \(missing?.hexadecimal ?? "") is in no pack of the repository", path: layout.packs,
            remedy: "Copy the missing pack back from another copy of the repository, if there is one.")
    }

    /// Whether all packs may be searched once more.
    func mayInquire() -> Bool {
        remainingInquiries.withLock { remaining in
            remaining -= 1
            return remaining >= 0
        }
    }

    /// Whether the index of a pack lists one of the chunks.
    private func isInAnyPack(_ ids: Set<ChunkID>) throws(BackupError) -> Bool {
        guard !ids.isEmpty, mayInquire() else { return false }
        return try PackFolder.names(layout).contains { pack in
            guard let index = try? PackIndex.read(pack, in: layout, protection) else { return false }
            return index.entries.contains { ids.contains($0.id) }
        }
    }

    /// A chunk in several packs is read from the first intact one. A chunk that is stored whole can be the base of others.
    private static func isBetter(_ chunk: StoredChunk, than other: StoredChunk, _ damaged: [PackID: BackupError]) -> Bool {
        let isIntact = damaged[chunk.pack] == nil
        guard isIntact == (damaged[other.pack] == nil) else { return isIntact }
        return chunk.base == nil && other.base != nil
    }

    private static func complete(_ found: [StoredChunk?]) -> [StoredChunk]? {
        let complete = found.compactMap { $0 }
        return complete.count == found.count ? complete : nil
    }

    private func lookUpAll(_ ids: [ChunkID]) throws(BackupError) -> [StoredChunk?] {
        let damaged = self.damaged.withLock { $0 }
        return try readTogether(ids.count) { (database) throws(BackupError) in
            let query = try ChunkQuery(database, protection)
            return try ChunkQuery.inTableOrder(ids) { (id) throws(BackupError) in
                var best: StoredChunk?
                try query.run(id) { (chunk) throws(BackupError) in
                    if best.map({ Self.isBetter(chunk, than: $0, damaged) }) ?? true { best = chunk }
                }
                return best
            }
        }
    }

    /// A chunk as the catalog has it, without reading the packs; `nil` when the catalog does not know it.
    func lookUp(_ id: ChunkID) throws(BackupError) -> StoredChunk? { try lookUpAll([id])[0] }

    /// Every place where a chunk is stored.
    func locations(of id: ChunkID) throws(BackupError) -> [StoredChunk] {
        try read { (database) throws(BackupError) in
            var chunks: [StoredChunk] = []
            try ChunkQuery(database, protection).run(id) { (chunk) throws(BackupError) in chunks.append(chunk) }
            return chunks
        }
    }

    /// Calls `body` with each chunk in each place, in the order of their names, as long as it returns true.
    func forEachChunk(_ body: (DigestKey, StoredChunk) -> Bool) throws(BackupError) {
        try current.connections.readTogether { (database) throws(BackupError) in
            try ChunkQuery.forEachChunk(database, protection, body)
        }
    }

    /// Inserts every chunk into a filter.
    func fill(_ filter: ChunkFilter) throws(BackupError) {
        try read { (database) throws(BackupError) in
            let rows = try database.statement("SELECT id0, id1, id2, id3 FROM chunks")
            while try rows.step() { filter.insert(ChunkQuery.key(rows, at: 0)) }
        }
    }

    /// The number of rows in the table of chunks, independent of the counts in the packs' rows.
    func chunkRowCount() throws(BackupError) -> Int {
        try read { (database) throws(BackupError) in
            Int(try database.integer("SELECT count(*) FROM chunks") ?? 0)
        }
    }

    /// Number of packs, their bytes, and the number of chunks.
    func totals() throws(BackupError) -> RepositoryTotals {
        try read { (database) throws(BackupError) in
            let row = try database.statement("SELECT count(*), ifnull(sum(size), 0), ifnull(sum(chunk_count), 0) FROM packs")
            guard try row.step() else { return RepositoryTotals(packCount: 0, packByteCount: 0, chunkCount: 0) }
            return RepositoryTotals(
                packCount: UInt64(clamping: try row.checkedInteger(0)),
                packByteCount: UInt64(clamping: try row.checkedInteger(1)),
                chunkCount: UInt64(clamping: try row.checkedInteger(2)))
        }
    }

    var damagedPacks: [PackID: BackupError] { damaged.withLock { $0 } }
}

// MARK: - Keeping in line with the packs

extension Catalog {
    /// Adds a published pack. A no-op when the pack is known already or has been removed.
    func add(_ pack: PackID, _ index: PackIndex, byteCount: UInt64) throws(BackupError) {
        var rows = CatalogRows()
        rows.append(pack, index, byteCount: byteCount, protection)
        try add(&rows)
    }

    /// Adds packs in one transaction.
    private func add(_ rows: inout CatalogRows) throws(BackupError) {
        rows.sort()
        let sorted = rows
        try write { (database) throws(BackupError) in
            if sorted.hasMiddles { try CatalogDatabase.noteMiddles(database) }
            let insertion = try ChunkInsertion(database)
            try insertion.run(sorted, sorted.packs.map { (pack) throws(BackupError) in try insert(pack, database) })
        }
        damaged.withLock { damaged in for pack in sorted.packs { damaged.removeValue(forKey: pack.id) } }
    }

    /// - Returns: the pack's number, if it is new and exists.
    private func insert(_ pack: CatalogRows.Pack, _ database: DatabaseConnection) throws(BackupError) -> Int64? {
        let key = DigestKey(pack.id.digest)
        let known = try database.keptStatement("SELECT number FROM packs WHERE \(DigestKey.condition)")
        known.bind(1, key)
        defer { known.reset() }
        // A process that removes a pack unlinks it first, then deletes its row. If the file still exists inside this transaction,
        // the row is deleted later.
        guard try !known.step(), try FileSystem.exists(layout.packPath(of: pack.id)) else { return nil }
        let insertion = try database.keptStatement(
            "INSERT INTO packs (id0, id1, id2, id3, kind, size, chunk_count) VALUES (?, ?, ?, ?, ?, ?, ?)")
        insertion.bind(1, key)
        insertion.bind(5, integer: Int64(pack.kind.rawValue))
        insertion.bind(6, integer: Int64(pack.byteCount))
        insertion.bind(7, integer: Int64(pack.chunkCount))
        try insertion.run()
        return database.lastRowNumber
    }

    /// Removes packs whose files are gone.
    func remove(_ packs: some Sequence<PackID>) throws(BackupError) {
        let keys = packs.map { DigestKey($0.digest) }
        guard !keys.isEmpty else { return }
        try write { (database) throws(BackupError) in
            let deletion = try database.statement("DELETE FROM packs WHERE \(DigestKey.condition)")
            for key in keys {
                deletion.bind(1, key)
                try deletion.run()
            }
            try database.execute("DELETE FROM chunks WHERE pack NOT IN (SELECT number FROM packs)")
        }
        // Most of them are of contents that no backup has any more. Those that are needed are found out once more.
        try? write { (database) throws(BackupError) in try ContentValue.removeAll([.packs, .archived], database) }
    }

    /// Compares the pack files with the packs that the catalog knows, and adds and removes what differs. A pack that cannot be
    /// read is skipped and recorded as damaged. If the catalog cannot be written, it continues in another place.
    func reconcile(_ comparison: Comparison = .lengths) throws(BackupError) {
        while true {
            do {
                return try reconcileOnce(comparison)
            } catch {
                guard CatalogOpening.isUnwritable(error), let next = try opening.open(after: current.way) else { throw error }
                opened.withLock { $0 = next }
            }
        }
    }

    private func reconcileOnce(_ comparison: Comparison) throws(BackupError) {
        comparisons.withLock { $0 += 1 }
        try reopenIfMoved()
        // Taken before listing: the next comparison finds later changes.
        let folders = try PackFolderVersions(layout)
        // The table first: a pack that another process publishes in between is then unknown, not vanished.
        let known = try knownPacks()
        let present = try PackFolder.names(layout)
        try remove(known.keys.filter { !present.contains($0) })
        damaged.withLock { damaged in damaged = damaged.filter { present.contains($0.key) } }
        if comparison == .lengths {
            try compareLengths(known)
            proofs.begin()
        }
        try index(present.filter { known[$0] == nil }.sorted())
        let state = try tableState()
        lastComparison.withLock { $0 = (folders, state) }
    }

    private func compareLengths(_ known: [PackID: UInt64]) throws(BackupError) {
        for (pack, size) in try PackFolder.list(layout) {
            guard let recorded = known[pack] else { continue }
            if recorded == size {
                damaged.withLock { _ = $0.removeValue(forKey: pack) }
            } else {
                markDamaged(
                    pack,
                    BackupError(
                        .repositoryDamaged, "the pack has \(size) bytes instead of \(recorded)",
                        path: layout.shownPackPath(of: pack)))
            }
        }
    }

    /// Whether nothing can have changed since packs and catalog were last compared. If so, a missing chunk is really missing.
    private func isInLine() throws(BackupError) -> Bool {
        guard let last = lastComparison.withLock({ $0 }), last.folders.covers(try PackFolderVersions(layout)) else {
            return false
        }
        guard try !current.hasMoved() else { return false }
        return try tableState() == last.table
    }

    private func tableState() throws(BackupError) -> [Int64] {
        try read { (database) throws(BackupError) in
            let row = try database.statement(
                "SELECT generation, (SELECT count(*) FROM packs), (SELECT max(number) FROM packs) FROM repository")
            guard try row.step() else { return [] }
            return [try row.checkedInteger(0), try row.checkedInteger(1), try row.checkedIntegerIfPresent(2) ?? 0]
        }
    }

    /// Adds packs from their indexes.
    private func index(_ packs: [PackID]) throws(BackupError) {
        var rows = CatalogRows()
        for pack in packs {
            if let found = try readIndex(pack) { rows.append(pack, found.index, byteCount: found.byteCount, protection) }
            guard rows.chunkCount >= CatalogRows.standardLimit else { continue }
            try add(&rows)
            rows = CatalogRows()
        }
        if !rows.packs.isEmpty { try add(&rows) }
    }

    /// - Returns: `nil` for a pack that is gone or damaged.
    func readIndex(_ pack: PackID) throws(BackupError) -> (index: PackIndex, byteCount: UInt64)? {
        do {
            let (index, sizeBytes) = try PackIndex.readWithSize(pack, in: layout, protection)
            return (index, sizeBytes)
        } catch {
            switch error.code {
            case .notFound: return nil
            case .repositoryDamaged, .unsupportedVersion, .inputOutput, .accessDenied:
                // One unreadable pack must not make the others unusable.
                markDamaged(pack, error)
                return nil
            default: throw error
            }
        }
    }

    private func markDamaged(_ pack: PackID, _ error: BackupError) { damaged.withLock { $0[pack] = error } }

    /// The packs and their lengths in bytes.
    private func knownPacks() throws(BackupError) -> [PackID: UInt64] {
        try read { (database) throws(BackupError) in
            var packs: [PackID: UInt64] = [:]
            let rows = try database.statement("SELECT id0, id1, id2, id3, size FROM packs")
            while try rows.step() {
                packs[PackID(try DigestKey(rows, at: 0).digest)] = UInt64(clamping: try rows.checkedInteger(4))
            }
            return packs
        }
    }
}

/// What a repository holds, according to its catalog.
public struct RepositoryTotals: Hashable, Sendable {
    /// Packs that the catalog knows.
    public let packCount: UInt64
    /// Bytes of all packs.
    public let packByteCount: UInt64
    /// A chunk that is in two packs counts twice.
    public let chunkCount: UInt64
}

// MARK: - Publishing packs

extension PackWriter {
    /// Completes the pack, publishes it and adds it to the catalog. If that fails, the pack is removed, unless the lock was lost:
    /// another host may rely on it.
    /// - Parameters:
    ///   - doomed: names that the pack must not get.
    ///   - requireHeld: verifies that the writer's lock is still held; throws if not.
    func publish(
        in layout: RepositoryLayout, _ catalog: Catalog, avoiding doomed: Set<PackID> = [],
        requireHeld: () throws(BackupError) -> Void
    ) throws(BackupError) -> FinishedPack {
        do {
            let finished = try finish(
                packsFolder: layout.packs, upstream: layout.upstream, avoiding: doomed, requireHeld: requireHeld)
            try catalog.add(finished.id, finished.index, byteCount: finished.byteCount)
            return finished
        } catch {
            discard(requireHeld: requireHeld)
            // The process that took over the lock also removed this writer's temporary files.
            if error.code == .notFound { try requireHeld() }
            throw error
        }
    }
}
