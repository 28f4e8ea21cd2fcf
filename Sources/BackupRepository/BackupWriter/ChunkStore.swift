import BackupCore
import Synchronization
import SystemIO

/// The lowest layer of a backup: takes chunks from several threads, stores the new ones, and publishes packs as they fill.
///
/// After an error it rejects further chunks with that error, since it is unknown which chunks were stored and which were lost.
final class ChunkStore: Sendable {
    private struct State {
        /// Deltas of another repository, which stay claimed: they may be published before their bases.
        var adoptedDeltas: Set<ChunkID> = []
        /// Packs that wait for being published.
        var full: [PackWriter] = []
        /// Packs that this backup created, to be removed if it is abandoned.
        var published: [PackID] = []
        /// Packs that this backup relies on and must not remove: those of earlier ones, and its own once it is completed.
        var referencedPacks: Set<PackID> = []
        /// The bases of chunks that this backup relies on. Their packs are looked up when they are asked for.
        var bases: Set<ChunkID> = []
        var coverage = ContentCoverage()
        /// Referenced packs whose names survive a power cut: each is waited for once.
        var durablePacks: Set<PackID> = []
        var failure: BackupError?

        mutating func refer(to chunk: StoredChunk) {
            referencedPacks.insert(chunk.pack)
            if let base = chunk.base { bases.insert(base) }
        }
    }

    private let layout: RepositoryLayout
    private let protection: RepositoryProtection
    private let catalog: Catalog
    private let reader: ChunkReader
    private let dataPack: OpenPack
    private let metadataPack: OpenPack
    private let state = Mutex(State())
    // Apart from the state, which many threads would wait for at each small chunk.
    private let claims = ChunkClaims()
    private let newChunks: NewChunks
    private let storedBytes = Atomic<UInt64>(0)
    private let hasFailed = Atomic<Bool>(false)
    /// Encoders that are currently unused.
    private let encoders = Mutex<[ChunkEncoder]>([])
    let knownPlaces = KnownPlaces()
    private let chunkTable = ChunkTableReading()
    // Packs are made durable while the next ones fill: a separate thread waits for the disk.
    private let publisher: WorkerPool
    private let publishing: WorkGroup
    private let requireHeld: @Sendable () throws(BackupError) -> Void
    /// Packs that a prune was going to remove when the backup began. A new pack gets none of their names.
    private let doomed: Set<PackID>
    /// A storage elsewhere takes several packs at once: the transfer of one leaves the network idle at times.
    private static let uploadCount = 4

    /// - Parameters:
    ///   - doomed: packs that a prune is going to remove: nothing new may rely on them.
    ///   - requireHeld: called before a pack is published or removed; throws if the writer's lock is no longer held.
    init(
        layout: RepositoryLayout, catalog: Catalog, reader: ChunkReader, packSizeBytes: UInt64, doomed: Set<PackID>,
        requireHeld: @escaping @Sendable () throws(BackupError) -> Void
    ) {
        self.requireHeld = requireHeld
        self.doomed = doomed
        catalog.doomedPacks.withLock { $0 = doomed }
        publisher = WorkerPool(threadCount: layout.upstream == nil ? 1 : Self.uploadCount, queueLimit: 2)
        self.layout = layout
        self.catalog = catalog
        newChunks = NewChunks(catalog, claims)
        self.reader = reader
        protection = reader.protection
        dataPack = OpenPack(kind: .data, in: layout, protection, packSizeBytes: packSizeBytes)
        metadataPack = OpenPack(kind: .metadata, in: layout, protection, packSizeBytes: packSizeBytes)
        publishing = WorkGroup(publisher)
    }

    /// Stored bytes of the new chunks.
    var storedByteCount: UInt64 { storedBytes.load(ordering: .relaxed) }

    /// A chunk's name.
    /// - Parameter digest: the SHA-256 of `plain`, if it is already known.
    func name(of plain: UnsafeRawBufferPointer, digest: SHA256Digest? = nil) -> ChunkID {
        if let digest, !protection.isSealing { return ChunkID(digest) }
        return protection.chunkID(of: plain)
    }

    /// Stores a chunk unless the repository has it.
    /// - Parameter similar: a chunk of an earlier backup that may be similar; then only the delta is stored.
    func store(
        _ id: ChunkID, _ plain: UnsafeRawBufferPointer, kind: PackKind, compression: ChunkEncoder.Compression,
        similar: StoredChunk? = nil
    ) throws(BackupError) {
        try guarded { () throws(BackupError) in
            guard try claim(id) else { return }
            let encoder = takeEncoder()
            defer { giveBack(encoder) }
            var base: ChunkEncoder.Base?
            if let similar { base = try self.base(for: similar) }
            try encoder.encode(id, plain, compression, against: base) { (entry, stored) throws(BackupError) in
                try append(entry, stored, kind, basePack: base?.chunk.pack, encoder)
            }
        }
    }

    /// Stores a chunk in the form that it has in another repository, unless this one has it.
    /// - Parameters:
    ///   - entry: with this repository's names; a base must be in this repository, stored whole (`hasWhole`).
    ///   - stored: verified.
    func adopt(_ entry: PackEntry, _ stored: UnsafeRawBufferPointer) throws(BackupError) {
        try guarded { () throws(BackupError) in
            guard try claim(entry.id) else { return }
            let encoder = takeEncoder()
            defer { giveBack(encoder) }
            if entry.base != nil { state.withLock { _ = $0.adoptedDeltas.insert(entry.id) } }
            try append(entry, stored, .data, basePack: nil, encoder)
        }
    }

    /// - Returns: whether the caller must store the chunk now. If not, it is in the repository, or another thread stores it.
    private func claim(_ id: ChunkID) throws(BackupError) -> Bool {
        guard claims.claim(id) else { return false }
        guard try newChunks.mayBeStored(id), let known = try catalog.findIntact(id) else { return true }
        state.withLock { $0.refer(to: known) }
        claims.release(id)
        return false
    }

    private func takeEncoder() -> ChunkEncoder { encoders.withLock { $0.popLast() } ?? ChunkEncoder() }

    private func giveBack(_ encoder: ChunkEncoder) { encoders.withLock { $0.append(encoder) } }

    private func append(
        _ entry: PackEntry, _ stored: UnsafeRawBufferPointer, _ kind: PackKind, basePack: PackID?, _ encoder: ChunkEncoder
    ) throws(BackupError) {
        let target = kind == .data ? dataPack : metadataPack
        let full = try protection.withPackedBytes(of: entry, stored: stored, buffer: &encoder.packed) {
            (packed) throws(BackupError) in
            noteStored(entry, packed.count, basePack)
            return try target.append(entry, packed)
        }
        guard let full else { return }
        state.withLock { $0.full.append(full) }
        publishing.submit { [self] () throws(BackupError) in try publish(full) }
    }

    /// - Parameter basePack: of a chunk that it may have been stored against.
    private func noteStored(_ entry: PackEntry, _ packedByteCount: Int, _ basePack: PackID?) {
        storedBytes.add(UInt64(packedByteCount), ordering: .relaxed)
        guard entry.base != nil, let basePack else { return }
        state.withLock { _ = $0.referencedPacks.insert(basePack) }
    }

    /// The base for a chunk that is similar to `chunk`: that chunk itself, or its own base; `nil` if it cannot be read.
    private func base(for chunk: StoredChunk) throws(BackupError) -> ChunkEncoder.Base? {
        var whole = chunk
        if let id = chunk.base {
            guard let found = try catalog.findIntact(id) else { return nil }
            whole = found
        }
        guard !whole.codec.needsBase, let plain = try? reader.plainBytesOnce(whole) else { return nil }
        return ChunkEncoder.Base(chunk: whole, plain: plain)
    }

    /// Ensures that referenced chunks that this backup did not store exist, so that a new snapshot can rely on them.
    /// - Throws: `repositoryDamaged`.
    func require(_ ids: [ChunkID]) throws(BackupError) {
        try guarded { () throws(BackupError) in
            let missing = ids.filter { !claims.contains($0) }
            for (id, isHeld) in zip(missing, try hold(missing)) where !isHeld {
                throw BackupError(
                    .repositoryDamaged, "chunk \(id), which a new snapshot refers to, is not in the repository",
                    path: layout.packs, remedy: "Store the file again instead of taking it from an older snapshot.")
            }
        }
    }

    /// Checks which chunks exist, so that a new snapshot can rely on them.
    func hold(_ ids: [ChunkID]) throws(BackupError) -> [Bool] { try holdPlaces(ids).map { $0 != nil } }

    /// Checks whether packs are intact, so that a new snapshot can rely on what is in them.
    func hold(_ packs: Set<PackID>) throws(BackupError) -> Bool {
        guard try catalog.areIntact(packs) else { return false }
        state.withLock { $0.referencedPacks.formUnion(packs) }
        return true
    }

    /// The same as for chunks, with their places.
    func holdPlaces(_ ids: [ChunkID]) throws(BackupError) -> [StoredChunk?] {
        let found = try catalog.findIntact(ids, in: chunkTable.table(for: ids.count, catalog))
        state.withLock { state in
            for case .some(let chunk) in found { state.refer(to: chunk) }
        }
        // Beside packs that are going to be removed, readers may prefer another place.
        if doomed.isEmpty { knownPlaces.note(found) }
        return found
    }

    /// A chunk of an earlier backup, if it is in an intact pack.
    func find(_ id: ChunkID) throws(BackupError) -> StoredChunk? { try catalog.findIntact(id) }

    /// Records that this backup relies on a chunk of an earlier one.
    func rely(on chunk: StoredChunk) { state.withLock { $0.refer(to: chunk) } }

    /// Makes everything durable and known to the catalog: files' chunks first, then what refers to them. A storage elsewhere gets
    /// both at once; until a record refers to them, nothing relies on their order.
    func publishAll() throws(BackupError) {
        try guarded { () throws(BackupError) in
            try publishing.wait()
            let last = [dataPack, metadataPack].compactMap { $0.take() }
            state.withLock { $0.full += last }
            if layout.upstream != nil {
                for pack in last { publishing.submit { [self] () throws(BackupError) in try publish(pack) } }
                try publishing.wait()
            } else {
                for pack in last { try publish(pack) }
            }
            let (referenced, durable, adopted) = state.withLock { state in
                defer { state.adoptedDeltas = [] }
                return (state.referencedPacks, state.durablePacks, state.adoptedDeltas)
            }
            // Their bases are published now, too.
            for id in adopted { claims.release(id) }
            try ReferencedPacks.makeDurable(referenced, besides: durable, layout: layout)
            state.withLock { $0.durablePacks.formUnion(referenced) }
        }
    }

    /// Removes what this backup wrote. Errors are ignored: the next backup finds and uses what is left. If the lock was lost,
    /// published packs stay, since another backup may rely on them.
    func discard() {
        _ = first(BackupError(.invalidArgument, "the backup was abandoned"))
        try? publishing.wait()
        for pack in [dataPack, metadataPack] { pack.take()?.discard(requireHeld: requireHeld) }
        let (full, published) = state.withLock { state in
            defer { (state.full, state.published) = ([], []) }
            return (state.full, state.published)
        }
        // Packs that were still waiting when another one failed.
        for pack in full { pack.discard(requireHeld: requireHeld) }
        // In a storage elsewhere, other machines may already rely on them. A prune removes what is not needed.
        guard layout.upstream == nil else { return }
        var removed: [PackID] = []
        let removal = PackRemoval(layout)
        for pack in published {
            do {
                try removal.remove(layout.packPath(of: pack), requireHeld: requireHeld)
                removed.append(pack)
            } catch {
                if error.code == .locked { break }
            }
        }
        // The file first, then the catalog's row: see `Catalog.add`.
        try? catalog.remove(removed)
    }

    /// - Throws: `conflict` when another machine's prune is going to remove a pack that this backup relies on, which happens only
    ///   to a writer that was considered dead.
    func requireNoneDoomed() throws(BackupError) {
        guard layout.upstream != nil else { return }
        let doomed = DoomedPacks.all(in: layout)
        guard neededPacks.isDisjoint(with: doomed) else {
            throw BackupError(
                .conflict, "a prune of another machine is going to remove data that this backup needs", path: layout.path,
                remedy: "Run the backup again.")
        }
    }

    /// The packs that this backup needs.
    private var neededPacks: Set<PackID> { state.withLock { $0.referencedPacks.union($0.published) } }

    /// For a backup whose machine may have slept for days just before its record was stored.
    /// - Throws: `repositoryDamaged` when a prune of another machine has removed a pack that the backup needs.
    func requireStored() throws(BackupError) {
        for pack in neededPacks {
            guard let upstream = layout.upstream, try !upstream.has(pack) else { continue }
            throw BackupError(
                .repositoryDamaged, "a prune of another machine has removed data that this backup needs", path: layout.path,
                remedy: "Run the backup again.")
        }
    }

    func changeCoverage(_ change: (inout ContentCoverage) -> Void) { state.withLock { change(&$0.coverage) } }

    /// All packs that the backup needs, once all of them are published; `nil` if it needs chunks that were not seen.
    func packsNeeded() throws(BackupError) -> Set<PackID>? {
        let (isComplete, bases) = state.withLock { ($0.coverage.isComplete, Array($0.bases)) }
        guard isComplete else { return nil }
        var packs = neededPacks
        for base in try catalog.findIntact(bases) {
            guard let base, base.base == nil else { return nil }
            packs.insert(base.pack)
        }
        return packs
    }

    /// From now on the packs belong to the repository.
    func keep() {
        state.withLock { state in
            state.referencedPacks.formUnion(state.published)
            state.published = []
        }
    }

    private func publish(_ pack: PackWriter) throws(BackupError) {
        do {
            let finished = try pack.publish(in: layout, catalog, avoiding: doomed, requireHeld: requireHeld)
            let adopted = state.withLock { state in
                if finished.isNew { state.published.append(finished.id) } else { state.referencedPacks.insert(finished.id) }
                state.full.removeAll { $0 === pack }
                return state.adoptedDeltas
            }
            // Not earlier: until the catalog knows them, they must not be stored again.
            for entry in finished.index.entries where !adopted.contains(entry.id) { claims.release(entry.id) }
        } catch {
            throw first(error)
        }
    }

    /// Records an error.
    /// - Returns: the first error. Later ones in other threads are often its consequences.
    private func first(_ error: BackupError) -> BackupError {
        state.withLock { state in
            let failure = state.failure ?? error
            state.failure = failure
            hasFailed.store(true, ordering: .relaxed)
            return failure
        }
    }

    private func guarded<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        // Throws the same error again: of several threads, any may be the one whose error is reported.
        if hasFailed.load(ordering: .relaxed), let failure = state.withLock({ $0.failure }) { throw failure }
        do {
            return try body()
        } catch {
            throw first(error)
        }
    }
}

extension ChunkStore {
    /// Stores a content list.
    /// - Parameter earlier: a list with which it may share most elements.
    func storeList(_ bytes: [UInt8], earlier: ChunkID? = nil) throws(BackupError) -> ChunkID {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in
            let id = name(of: buffer)
            try store(
                id, buffer, kind: .metadata, compression: .whenSmaller,
                similar: try earlier.flatMap { (id) throws(BackupError) in try find(id) })
            changeCoverage { $0.cover(list: id) }
            return id
        }
    }
}

/// For a copy of snapshots of another repository.
extension ChunkStore {
    /// What a writer knows of a chunk that it may have to store.
    enum Presence {
        case missing
        /// An earlier backup has it.
        case held(plainLength: UInt32)
        /// This writer has stored it, or another thread is about to.
        case beingStored
    }

    /// Holds those chunks that the repository has.
    func presence(of ids: [ChunkID]) throws(BackupError) -> [Presence] {
        let own = ids.map { claims.contains($0) }
        var held = try holdPlaces(zip(ids, own).filter { !$0.1 }.map(\.0))[...]
        return own.map { isOwn in
            if isOwn { return .beingStored }
            guard let place = held.popFirst() ?? nil else { return .missing }
            return .held(plainLength: place.plainLength)
        }
    }

    /// Whether a chunk can be a base, and is held as one. A writer that adopts chunks stores each that is whole elsewhere whole.
    func hasWhole(_ id: ChunkID) throws(BackupError) -> Bool {
        // First what the repository has: another thread may claim the chunk for a moment, until it finds it there.
        if let place = try holdPlaces([id])[0] { return place.base == nil }
        return claims.contains(id)
    }
}
