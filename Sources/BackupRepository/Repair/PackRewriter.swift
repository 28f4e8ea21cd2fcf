import BackupCore

/// Copies chunks to new packs, with their stored bytes unchanged. A new pack is durable, published and in the catalog once
/// `append` or `finish` has reported so; only then may the packs it was copied from be removed. For one thread at a time; the
/// caller holds the writer's lock.
final class PackRewriter {
    private let repository: Repository
    private let lock: RepositoryLock
    private let dataPack: OpenPack
    private let metadataPack: OpenPack
    /// Chunks in the open packs.
    private var contained: Set<ChunkID> = []
    private(set) var published: Set<PackID> = []
    /// Bytes of the published packs.
    private(set) var publishedByteCount: UInt64 = 0

    /// - Parameter lock: the writer's.
    init(_ repository: Repository, _ lock: RepositoryLock) {
        self.repository = repository
        self.lock = lock
        dataPack = OpenPack(kind: .data, in: repository.layout, repository.protection)
        metadataPack = OpenPack(kind: .metadata, in: repository.layout, repository.protection)
    }

    /// - Parameter packed: the chunk's bytes as stored in a pack.
    /// - Returns: whether packs were published, so that all chunks of this kind passed so far are safe.
    @discardableResult
    func append(_ chunk: StoredChunk, _ packed: UnsafeRawBufferPointer, kind: PackKind) throws(BackupError) -> Bool {
        guard contained.insert(chunk.id).inserted else { return false }
        let pack = kind == .data ? dataPack : metadataPack
        guard let full = try pack.append(PackEntry(chunk), packed) else { return false }
        try publish(full)
        return true
    }

    /// Publishes the open packs.
    func finish() throws(BackupError) {
        for pack in [dataPack, metadataPack] {
            if let writer = pack.take() { try publish(writer) }
        }
    }

    /// Removes the unpublished packs. Errors are ignored: the next writer sweeps.
    func discard() {
        for pack in [dataPack, metadataPack] { pack.take()?.discard(requireHeld: lock.requireHeld) }
    }

    private func publish(_ pack: PackWriter) throws(BackupError) {
        let finished = try pack.publish(in: repository.layout, repository.catalog, requireHeld: lock.requireHeld)
        published.insert(finished.id)
        publishedByteCount += finished.byteCount
        contained.subtract(finished.index.entries.map(\.id))
    }
}
