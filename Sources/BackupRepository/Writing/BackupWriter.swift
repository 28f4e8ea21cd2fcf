import BackupCore
import SystemIO

/// One backup being written. Nothing of it can be seen until `commit`, which makes all of it visible in one step. For one thread at
/// a time.
///
/// A writer that is let go without `commit`, and one that failed, leaves nothing behind; after a crash the packs that were complete
/// stay and are found again by the next backup.
public final class BackupWriter {
    private let repository: Repository
    private let store: ChunkStore
    /// Kept for as long as packs may be written.
    private var lock: AdvisoryLock?

    init(repository: Repository, packSizeBytes: UInt64) throws(BackupError) {
        self.repository = repository
        lock = try AdvisoryLock(path: repository.layout.writerLock)
        store = ChunkStore(layout: repository.layout, catalog: repository.catalog, packSizeBytes: packSizeBytes)
        try repository.snapshotStore.sweep()
        // What is no longer there must not be taken for stored.
        try repository.catalog.reconcile()
    }

    deinit { abandon() }

    /// Stored bytes of all chunks that were new: what the backup adds to the repository, but for the packs' indexes.
    public var storedByteCount: UInt64 { store.storedByteCount }

    public func makeContentWriter(_ policy: ChunkingPolicy) -> ContentWriter {
        let cutter = repository.configuration.chunker.cutter(for: policy, gear: repository.gear)
        return ContentWriter(store: store, cutter: cutter, policy: policy)
    }

    /// Stores bytes that are in memory.
    public func store(_ bytes: [UInt8], policy: ChunkingPolicy) throws(BackupError) -> StoredFile {
        let writer = makeContentWriter(policy)
        try writer.append(bytes)
        return try writer.finish()
    }

    /// Stores a file from `source` up to its end.
    /// - Parameter progress: told of the bytes read with each piece.
    public func store(
        _ source: any ByteSource, policy: ChunkingPolicy, progress: (UInt64) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) -> StoredFile {
        let writer = makeContentWriter(policy)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = try buffer.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                let count = try source.read(at: writer.byteCount, into: buffer)
                try writer.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return count
            }
            guard count > 0 else { return try writer.finish() }
            try progress(UInt64(count))
        }
    }

    /// Stores a folder's directory object. Its files and folders must have been stored by this writer, or be taken from a snapshot
    /// that was there when the writer was made.
    /// - Throws: `invalidArgument` for names that occur twice or cannot be stored; `repositoryDamaged` when what was taken over is
    ///   not in the repository.
    public func store(_ entries: some Sequence<TreeEntry>) throws(BackupError) -> StoredDirectory {
        var compacted: [TreeEntry] = []
        for entry in entries {
            try requireStored(entry.content)
            compacted.append(entry.replacing(content: try compact(entry)))
        }
        let directory = try Directory(entries: compacted)
        let bytes = directory.encode()
        // What is stored must be readable before anything refers to it.
        guard try Directory(decoding: bytes).entries == directory.entries else {
            throw BackupError(.invalidArgument, "a folder does not survive being written")
        }
        return StoredDirectory(content: try store(bytes, policy: .metadata).content, totals: directory.totals)
    }

    /// A snapshot that refers to what is not there would be lost from the start. What stands in lists is not followed: it is there
    /// whenever its list is, since both were stored together and are removed together.
    private func requireStored(_ content: FileContent) throws(BackupError) {
        for element in content.elements {
            switch element {
            case .literal: continue
            case .chunk(let id, _), .list(let id, _): try store.require(id)
            }
        }
    }

    /// Contents that were composed of many elements go to lists, as if they had been stored in one piece.
    private func compact(_ entry: TreeEntry) throws(BackupError) -> FileContent {
        let content = entry.content
        guard entry.kind == .file else { return content }
        let isShort = content.elements.count <= ContentListBuilder.inlineElementLimit
        let hasLongLiteral = content.elements.contains { Self.isLongLiteral($0) }
        if isShort, !hasLongLiteral { return content }
        let store = store
        var list = ContentListBuilder { (bytes) throws(BackupError) in try store.storeList(bytes) }
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

    /// What a content consists of, also while it is not published yet: for laying out archives, whose sizes depend on how chunks
    /// are stored. Chunks that are not published name no pack that exists: read nothing through them.
    /// - Throws: `repositoryDamaged` for chunks that were neither stored by this writer nor are in the repository.
    public func pieces(of content: FileContent) throws(BackupError) -> [ContentPiece] {
        let resolver = ContentResolver { (id) throws(BackupError) in
            if let bytes = try self.store.openPlainBytes(id) { return bytes }
            return try self.repository.plainBytes(of: id)
        }
        var pieces: [ContentPiece] = []
        for element in try resolver.flatten(content) {
            switch element {
            case .literal(let bytes):
                pieces.append(.literal(bytes))
            case .list(let id, _):
                throw BackupError(.repositoryDamaged, "content list \(id) was not followed")
            case .chunk(let id, let plainLength):
                guard let chunk = try store.locate(id), chunk.plainLength == plainLength else {
                    throw BackupError(.repositoryDamaged, "chunk \(id) is not in the repository")
                }
                pieces.append(.chunk(chunk))
            }
        }
        return pieces
    }

    /// Makes everything stored so far durable and readable through the repository, without a snapshot: for laying out what is
    /// computed from stored files. Each call ends the packs that are open, so one call in a backup is good and many are not.
    public func publishChunks() throws(BackupError) {
        guard lock != nil else { throw BackupError(.invalidArgument, "a backup is written to after it was finished") }
        try store.publishAll()
    }

    /// Makes the backup durable and then visible: data packs, metadata packs, catalog, record, each complete before the next begins.
    /// The writer is of no further use.
    /// - Throws: `alreadyExists` when another snapshot has the name; like any other error it leaves no snapshot.
    public func commit(_ record: SnapshotRecord) throws(BackupError) -> Snapshot {
        guard lock != nil else { throw BackupError(.invalidArgument, "a backup is committed after it was finished") }
        do {
            try requireStored(record.root.content)
            try store.publishAll()
            try FaultInjection.reached("backup.catalog-updated")
            // From the moment in which the record may have become visible, the packs must stay, whatever happens.
            let snapshot = try repository.snapshotStore.publish(record) { store.keep() }
            lock = nil
            return snapshot
        } catch {
            abandon()
            throw error
        }
    }

    /// Gives the backup up and removes what it wrote.
    public func abandon() {
        guard lock != nil else { return }
        store.discard()
        lock = nil
    }
}

extension Repository {
    /// Starts a backup.
    /// - Throws: `busy` when another is being written, by whatever process.
    public func makeWriter() throws(BackupError) -> BackupWriter {
        try makeWriter(packSizeBytes: 32 << 20)
    }

    /// - Parameter packSizeBytes: a pack is published when it has reached this length.
    func makeWriter(packSizeBytes: UInt64) throws(BackupError) -> BackupWriter {
        try BackupWriter(repository: self, packSizeBytes: packSizeBytes)
    }
}
