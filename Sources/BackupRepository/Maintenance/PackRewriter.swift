import BackupCore
import SystemIO

/// Copies chunks to new packs, their stored bytes as they are. A new pack is durable, published and in the catalog when `append` or `finish`
/// says so; only then may the packs it was copied from go. For one thread at a time, and for the holder of the writer's lock.
final class PackRewriter {
    private static let packSizeBytes: UInt64 = 32 << 20
    private static let packChunkLimit = 65_536

    private let repository: Repository
    private var open: [PackKind: PackWriter] = [:]
    /// Chunks in the packs that are open.
    private var contained: Set<ChunkID> = []
    private(set) var published: Set<PackID> = []
    /// Bytes of the packs that were published.
    private(set) var publishedByteCount: UInt64 = 0

    init(_ repository: Repository) { self.repository = repository }

    /// - Parameter packed: the chunk's bytes as they lie in a pack.
    /// - Returns: whether packs were published, so that everything given so far of this kind is safe.
    @discardableResult
    func append(_ chunk: StoredChunk, _ packed: UnsafeRawBufferPointer, kind: PackKind) throws(BackupError) -> Bool {
        let pack = try openPack(kind)
        guard contained.insert(chunk.id).inserted else { return false }
        try pack.append(PackEntry(chunk), packed)
        guard pack.byteCount >= Self.packSizeBytes || pack.chunkCount >= Self.packChunkLimit else { return false }
        try publish(kind)
        return true
    }

    /// Publishes what is open.
    func finish() throws(BackupError) {
        try publish(.data)
        try publish(.metadata)
    }

    /// Removes what is not published. Errors are passed over: the next writer sweeps.
    func discard() {
        for pack in open.values { pack.discard() }
        open = [:]
    }

    private func openPack(_ kind: PackKind) throws(BackupError) -> PackWriter {
        if let pack = open[kind] { return pack }
        let pack = try PackWriter(kind: kind, temporaryFolder: repository.layout.temporary, protection: repository.protection)
        open[kind] = pack
        return pack
    }

    private func publish(_ kind: PackKind) throws(BackupError) {
        guard let pack = open.removeValue(forKey: kind) else { return }
        do throws(BackupError) {
            let finished = try pack.finish(packsFolder: repository.layout.packs)
            try repository.catalog.add(finished.id, finished.index, byteCount: finished.byteCount)
            published.insert(finished.id)
            publishedByteCount += finished.byteCount
            contained.subtract(finished.index.entries.map(\.id))
        } catch {
            pack.discard()
            throw error
        }
    }
}
