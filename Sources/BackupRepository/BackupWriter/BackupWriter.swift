import BackupCore
import Synchronization
import SystemIO

/// A backup that is being written. It is invisible until `commit`, which makes it visible atomically. Several threads may store
/// files and folders concurrently.
///
/// A writer that fails or is released without `commit` leaves nothing behind. After a crash, completed packs stay, and the next
/// backup reuses them.
public final class BackupWriter: Sendable {
    let repository: Repository
    let store: ChunkStore
    /// Where chunks of earlier backups are, of those that were looked for.
    public var knownPlaces: KnownPlaces { store.knownPlaces }
    /// Parallel work of the backup. The queue is short, since waiting work takes memory.
    public let workers = WorkerPool(queueLimit: 16)
    /// Held as long as packs may be written.
    private let lock: Mutex<RepositoryLock?>
    /// Of the operation that makes the backup: other threads work for it as well.
    let cancellation = Cancellation.current

    init(
        repository: Repository, packSizeBytes: UInt64, expectsSnapshots: Bool, operation: String = "backup"
    ) throws(BackupError) {
        self.repository = repository
        let held = try RepositoryLock(repository.layout, .writing, operation: operation)
        lock = Mutex(held)
        try repository.layout.markAsPrimary()
        store = ChunkStore(
            layout: repository.layout, catalog: repository.catalog, reader: repository.chunkReader,
            packSizeBytes: packSizeBytes, doomed: DoomedPacks.all(in: repository.layout)
        ) { [weak held] () throws(BackupError) in
            // Nothing is written after the lock was released.
            guard let held else { throw BackupError(.locked, "the backup has ended") }
            try held.requireHeld()
        }
        try repository.snapshotStore.sweep(requireHeld: held.requireHeld)
        RepositoryLock.prepareFiles(repository.layout)
        ConfigurationFiles(layout: repository.layout).addCopy(repository.configurationReading, repository.protection.keys)
        RepositoryReadme.add(repository.layout)
        // Chunks and snapshots that were removed since the last scan must not be treated as stored or reused.
        try repository.catalog.reconcile()
        try repository.snapshotStore.rescan()
        try repository.snapshotStore.makeFirstRegister { () throws(BackupError) in
            expectsSnapshots ? false : try repository.packs().isEmpty
        }
    }

    deinit { abandon() }

    /// Stored bytes of all new chunks: the size that the backup adds to the repository, without the packs' indexes.
    public var storedByteCount: UInt64 { store.storedByteCount }

    /// For a file that the calling thread reads, preferably a small one.
    /// - Parameter earlier: the same file in an earlier snapshot, with which it may share most of its data.
    public func makeContentWriter(_ policy: ChunkingPolicy, earlier: FileContent? = nil) -> ContentWriter {
        ContentWriter(store: store, cutter: makeCutter(policy), policy: policy, base: makeMatcher(policy, earlier))
    }

    func makeCutter(_ policy: ChunkingPolicy) -> ChunkCutter {
        repository.configuration.chunker.cutter(for: policy, gear: repository.gear)
    }

    /// - Parameter earlier: the same file in an earlier snapshot.
    func makeMatcher(_ policy: ChunkingPolicy, _ earlier: FileContent?) -> BaseMatcher? {
        guard let earlier else { return nil }
        return BaseMatcher(earlier: earlier, policy: policy, catalog: repository.catalog, resolver: repository.resolver)
    }

    /// Rejects a file with more pieces than readers accept before it is read, instead of after hours.
    /// - Throws: `tooLarge`.
    public func requireStorable(byteCount: UInt64, policy: ChunkingPolicy) throws(BackupError) {
        let pieceBytes = UInt64(repository.configuration.chunker.typicalPieceBytes(for: policy))
        guard byteCount / pieceBytes >= UInt64(ContentList.pieceCountLimit) else { return }
        let limit = pieceBytes.multipliedSaturating(by: UInt64(ContentList.pieceCountLimit))
        throw BackupError(.tooLarge, "a file of this kind may have \(limit) bytes, and this one has \(byteCount)")
    }

    /// Stores bytes that are in memory.
    public func store(_ bytes: [UInt8], policy: ChunkingPolicy) throws(BackupError) -> StoredFile {
        let writer = makeContentWriter(policy)
        try writer.append(bytes)
        return try writer.finish()
    }

    /// Stores a file from `source` up to its end.
    /// - Parameters:
    ///   - earlier: the same file in an earlier snapshot, with which it may share most of
    ///     its data. New chunks that are similar to old ones are then stored as deltas.
    ///   - progress: called with the number of bytes of each piece read.
    public func store(
        _ source: any ByteSource, policy: ChunkingPolicy, earlier: FileContent? = nil,
        progress: (UInt64) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) -> StoredFile {
        let blocks = ContentBlocks.make()
        let first = try readFirst(source, blocks, progress)
        if first.count < ContentBlocks.sizeBytes { return try storeSmall(first, policy, earlier) }
        let (content, checksums, _) = try storeLarge(
            source, first, blocks, policy, earlier, hashing: ContentHashLanes.self, progress)
        return StoredFile(content: content, checksums: checksums)
    }

    /// Stores a folder's directory object. Its files and folders must have been stored by this writer, or come from a snapshot
    /// that is older than the writer.
    /// - Throws: `invalidArgument` for names that occur twice or cannot be stored; `repositoryDamaged` when reused content is not
    ///   in the repository.
    public func store(_ entries: some Sequence<TreeEntry>) throws(BackupError) -> StoredDirectory {
        try cancellation?.check()
        var entries = Array(entries)
        try requireStored(entries.lazy.map(\.content))
        store.changeCoverage { coverage in for entry in entries { coverage.use(entry) } }
        for index in entries.indices {
            if let content = try compact(entries[index]) { entries[index] = entries[index].replacing(content: content) }
        }
        let directory = try Directory(entries: entries)
        // Frees the memory: there may be a million of them.
        entries = []
        let bytes = directory.encode()
        // A stored object must be readable before anything refers to it.
        guard try directory.isEqual(toEncoded: bytes) else {
            throw BackupError(.invalidArgument, "a folder does not survive being written")
        }
        let content = try store(bytes, policy: .metadata).content
        store.changeCoverage { $0.cover(folder: content) }
        return StoredDirectory(content: content, totals: directory.totals)
    }

    /// A snapshot with a reference to a missing chunk would be damaged from the start. Chunks
    /// in lists are not checked: they were stored with their list, or checked by `takeOver`.
    private func requireStored(_ contents: some Sequence<FileContent>) throws(BackupError) {
        var ids: [ChunkID] = []
        for content in contents {
            for element in content.elements {
                switch element {
                case .literal: continue
                case .chunk(let id, _), .list(let id, _): ids.append(id)
                }
            }
        }
        guard !ids.isEmpty else { return }
        try store.require(ids)
    }

    /// Checks which contents of an earlier snapshot can be reused, because all of their chunks are in intact packs. Reads only
    /// the catalog and content lists, or the indexes of packs that are known to hold a large part of a content.
    /// - Returns: the answers, in the order of `contents`.
    public func takeOver(_ contents: [FileContent]) throws(BackupError) -> [Bool] {
        var looked: [TakenContent] = []
        var ids: [ChunkID] = []
        for content in contents {
            var taken = TakenContent(start: ids.count)
            do throws(BackupError) {
                try append(content, to: &ids, &taken, isLarge: content.isLarge)
            } catch {
                taken.isReadable = false
                ids.removeSubrange(taken.start...)
            }
            taken.end = ids.count
            looked.append(taken)
        }
        let places = try store.holdPlaces(ids)
        return looked.map { taken in
            guard taken.isReadable, places[taken.start..<taken.end].allSatisfy({ $0 != nil }) else { return false }
            if !taken.lists.isEmpty { store.changeCoverage { coverage in taken.lists.forEach { coverage.cover(list: $0) } } }
            for part in taken.parts {
                var found = ContentPlaces(repository.catalog)
                for case .some(let chunk) in places[part.range] { found.insert(intact: chunk) }
                repository.catalog.keepPacks(of: part.content, found)
            }
            return true
        }
    }

    /// What was seen of a content that is to be taken over.
    private struct TakenContent {
        /// Where its chunks and lists begin among those that are looked for.
        let start: Int
        var end = 0
        var isReadable = true
        var lists: [ChunkID] = []
        /// Its large parts whose packs were not known.
        var parts: [(content: FileContent, range: Range<Int>)] = []
        /// Of chunks.
        var pieceCount = 0

        init(start: Int) { self.start = start }
    }

    /// The same for a folder that is what `entries` would be stored as. This writer must have stored their contents, or taken
    /// them over.
    /// - Returns: whether it can be reused.
    public func takeOver(_ folder: StoredDirectory, with entries: [TreeEntry]) throws(BackupError) -> Bool {
        guard try takeOver([folder.content]) == [true] else { return false }
        store.changeCoverage { coverage in
            for entry in entries { coverage.use(entry) }
            coverage.cover(folder: folder.content)
        }
        return true
    }

    /// Adds all chunks of a content: its lists, and what is in them. Large parts that are in packs which are known are left out.
    /// - Returns: whether it has large parts.
    @discardableResult
    private func append(
        _ content: FileContent, to ids: inout [ChunkID], _ taken: inout TakenContent, isLarge: Bool, depth: Int = 0
    ) throws(BackupError) -> Bool {
        var hasParts = false
        for element in content.elements {
            switch element {
            case .literal: continue
            case .chunk(let id, _):
                ids.append(id)
                taken.pieceCount += 1
            case .list(let id, _):
                guard depth < ContentList.depthLimit else {
                    throw BackupError(.repositoryDamaged, "content lists are nested too deep: \(id)")
                }
                taken.lists.append(id)
                let part = isLarge ? element.part : nil
                hasParts = hasParts || part != nil
                // After an error, its chunks are looked for: that throws the same error if it is one of the disk.
                if let part, let packs = repository.catalog.packs(of: part), (try? store.hold(packs)) == true { continue }
                let start = ids.count
                ids.append(id)
                let isOfParts = try append(
                    repository.resolver.open(element), to: &ids, &taken, isLarge: part != nil, depth: depth + 1)
                if let part, !isOfParts { taken.parts.append((part, start..<ids.count)) }
            }
            guard taken.pieceCount <= ContentList.pieceCountLimit else {
                throw BackupError(.tooLarge, "a file has more than \(ContentList.pieceCountLimit) pieces")
            }
        }
        return hasParts
    }

    /// Moves contents composed of many elements to lists, as if they had been stored in one piece.
    /// - Returns: `nil` if nothing has to change.
    private func compact(_ entry: TreeEntry) throws(BackupError) -> FileContent? {
        let content = entry.content
        guard entry.kind == .file else { return nil }
        let isShort = content.elements.count <= ContentListBuilder.inlineElementLimit
        let hasLongLiteral = content.elements.contains { Self.isLongLiteral($0) }
        if isShort, !hasLongLiteral { return nil }
        let store = store
        var list = ContentListBuilder { (list, _) throws(BackupError) in try store.storeList(list) }
        for element in content.elements {
            if case .literal(let bytes) = element, Self.isLongLiteral(element) {
                for part in try self.store(bytes, policy: .structuredText).content.elements { try list.append(part) }
            } else {
                try list.append(element)
            }
        }
        return try list.finish()
    }

    private static func isLongLiteral(_ element: FileContent.Element) -> Bool {
        if case .literal(let bytes) = element { return bytes.count > 1024 }
        return false
    }

    /// Makes everything stored so far durable and readable through the repository, without a snapshot: for laying out archives
    /// that are computed from stored files. Each call ends the open packs, so call it once in a backup, not often.
    public func publishChunks() throws(BackupError) {
        guard isOpen else { throw BackupError(.invalidArgument, "a backup is written to after it was finished") }
        try store.publishAll()
        try cancellation?.check()
    }

    /// Makes the backup durable and then visible: data packs, metadata packs, catalog,
    /// record, each complete before the next begins. The writer cannot be used afterwards.
    /// - Parameter willAppear: called with its name just before it becomes visible; returns whether to pin it.
    /// - Returns: the snapshot, with the next free name (`NAME_2`, …) if another one has the record's name.
    /// - Throws: any error; no snapshot is left then.
    public func commit(
        _ record: SnapshotRecord, willAppear: (FileName) -> Bool = { _ in false }
    ) throws(BackupError) -> Snapshot {
        try commit(record, label: nil, willAppear: willAppear)
    }

    /// The same with a label that the snapshot has from its first moment.
    /// - Throws: also if the label cannot be written; no snapshot is left then.
    func commit(_ record: SnapshotRecord, label: FirstLabel) throws(BackupError) -> Snapshot {
        try commit(record, label: label) { _ in label.isPinned }
    }

    private func commit(
        _ record: SnapshotRecord, label: FirstLabel?, willAppear: (FileName) -> Bool
    ) throws(BackupError) -> Snapshot {
        guard isOpen else { throw BackupError(.invalidArgument, "a backup is committed after it was finished") }
        do throws(BackupError) {
            try requireStored([record.root.content])
            try store.publishAll()
            try cancellation?.check()
            try FaultInjection.reached("backup.catalog-updated")
            // From the moment in which the record may have become visible, the packs must stay, whatever happens.
            guard let held = lock.withLock({ $0 }) else { throw BackupError(.locked, "the backup has ended") }
            // While the lock on names is taken, if others need not wait for that lock for long. The record waits for the indexes.
            let isSoon = repository.layout.upstream?.storesIndexesSoon == true
            let indexes = isSoon ? storeIndexesInBackground(held) : nil
            defer { _ = indexes?.result }
            if indexes == nil { try storeIndexes(held) }
            var names: RepositoryLock?
            let snapshot = try repository.snapshotStore.publish(
                record, label: label,
                requireHeld: { () throws(BackupError) in
                    try indexes?.value()
                    try held.requireHeld()
                    try store.requireNoneDoomed()
                },
                willAppear: { name in
                    store.keep()
                    return willAppear(name)
                }, didPublish: { if repository.layout.upstream != nil { names = $0 } })
            try requireStored(snapshot, held)
            noteNeeds(of: snapshot)
            workers.end()
            // The lock on names first: others of this machine wait for it.
            let steps = names == nil ? [] : held.removeNotesInBackground()
            names = nil
            for step in steps { _ = step.result }
            lock.withLock { $0 = nil }
            return snapshot
        } catch {
            abandon()
            throw error
        }
    }

    /// Without it, an update of a copy looks through the backup.
    private func noteNeeds(of snapshot: Snapshot) {
        store.changeCoverage { $0.use(folder: snapshot.record.root.content) }
        guard repository.layout.upstream == nil, let packs = try? store.packsNeeded() else { return }
        repository.knownNeeds.withLock { $0.note(packs, of: snapshot.id) }
    }

    /// Makes everything stored so far part of the repository, for a snapshot that is there and lacks it. The writer cannot be
    /// used afterwards.
    func finishWithoutRecord() throws(BackupError) {
        do throws(BackupError) {
            try publishChunks()
            guard let held = lock.withLock({ $0 }) else { throw BackupError(.locked, "the backup has ended") }
            try storeIndexes(held)
            try held.requireHeld()
            try store.requireNoneDoomed()
            store.keep()
            workers.end()
            lock.withLock { $0 = nil }
        } catch {
            abandon()
            throw error
        }
    }

    /// The thread does not keep the lock: it may end a little later than the backup.
    private func storeIndexesInBackground(_ held: RepositoryLock) -> BackgroundStep<Void> {
        BackgroundStep { [self, weak held] () throws(BackupError) -> Void in
            guard let held else { throw BackupError(.locked, "the backup has ended") }
            try storeIndexes(held)
        }
    }

    /// Readers find the packs without a batch as well, with more requests.
    private func storeIndexes(_ held: RepositoryLock) throws(BackupError) {
        guard let upstream = repository.layout.upstream else { return }
        // Another program may have taken the cache for another place meanwhile.
        try repository.layout.requireOpened()
        try BestEffort.run { () throws(BackupError) in
            try upstream.storeIndexes(isCompacting: false, requireHeld: held.requireHeld)
        }
    }

    /// In an object storage, a lock can be lost between the last look at it and the moment in which the record is stored. Then
    /// the packs are looked at once more: a backup that was reported must be whole.
    private func requireStored(_ snapshot: Snapshot, _ held: RepositoryLock) throws(BackupError) {
        guard repository.layout.upstream != nil else { return }
        do throws(BackupError) {
            try held.requireHeld()
        } catch {
            guard error.code == .locked else { throw error }
            do throws(BackupError) {
                try store.requireStored()
            } catch {
                try? Cancellation.shielded { () throws(BackupError) in
                    try repository.layout.remove(repository.layout.snapshotPath(of: snapshot.id))
                }
                throw error
            }
        }
    }

    /// Abandons the backup and removes what it wrote.
    public func abandon() {
        guard isOpen else { return }
        workers.end()
        store.discard()
        lock.withLock { $0 = nil }
    }

    private var isOpen: Bool { lock.withLock { $0 != nil } }
}

extension Repository {
    /// Starts a backup.
    /// - Parameter expectsSnapshots: whether there should be snapshots, including removed ones; a repository without any is then
    ///   not new, but incomplete.
    /// - Throws: `busy` when this or another process is writing a backup.
    public func makeWriter(expectsSnapshots: Bool = false) throws(BackupError) -> BackupWriter {
        try makeWriter(packSizeBytes: OpenPack.standardSizeBytes, expectsSnapshots: expectsSnapshots)
    }

    /// - Parameters:
    ///   - packSizeBytes: a pack is published when it has reached this length.
    ///   - operation: what the writer's lock is for, as shown to other processes.
    func makeWriter(
        packSizeBytes: UInt64, expectsSnapshots: Bool = false, operation: String = "backup"
    ) throws(BackupError) -> BackupWriter {
        try BackupWriter(
            repository: self, packSizeBytes: packSizeBytes, expectsSnapshots: expectsSnapshots, operation: operation)
    }
}
