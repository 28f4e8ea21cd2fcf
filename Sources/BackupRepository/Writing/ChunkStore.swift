import BackupCore
import SystemIO

/// The bottom of a backup: takes chunks, stores those that are new, publishes packs as they fill. For one thread at a time.
///
/// After an error it refuses further chunks: what was lost cannot be told from what was stored.
final class ChunkStore {
    /// A pack with many tiny chunks is published before its index gets large.
    private static let packChunkLimit = 65_536

    private let layout: RepositoryLayout
    private let catalog: Catalog
    private let packSizeBytes: UInt64
    private let encoder = ChunkEncoder()
    private var hasher = SHA256Hasher()
    private var open: [PackKind: PackWriter] = [:]
    /// Packs that were new with this backup: removed again if it is abandoned.
    private var published: [PackID] = []
    /// Packs of earlier backups that this one relies on.
    private var reliedOn: Set<PackID> = []
    private var failure: BackupError?
    /// Stored bytes of the chunks that were new.
    private(set) var storedByteCount: UInt64 = 0

    init(layout: RepositoryLayout, catalog: Catalog, packSizeBytes: UInt64) {
        self.layout = layout
        self.catalog = catalog
        self.packSizeBytes = packSizeBytes
    }

    /// Stores a chunk unless it is there.
    func store(
        _ plain: UnsafeRawBufferPointer, kind: PackKind, compression: ChunkEncoder.Compression
    ) throws(BackupError) -> ChunkID {
        try guarded { () throws(BackupError) in
            hasher.update(plain)
            let id = ChunkID(hasher.finish())
            if open.values.contains(where: { $0.contains(id) }) { return id }
            if let known = try catalog.findIntact(id) {
                reliedOn.insert(known.pack)
                return id
            }
            let pack = try openPack(kind)
            try encoder.encode(id, plain, compression) { (entry, stored) throws(BackupError) in
                try pack.append(entry, stored)
                storedByteCount += UInt64(entry.storedLength)
            }
            if pack.byteCount >= packSizeBytes || pack.chunkCount >= Self.packChunkLimit { try publish(kind) }
            return id
        }
    }

    /// Makes sure that a chunk which was not stored by this backup, but is referred to, is there for a new snapshot to rely on.
    /// - Throws: `repositoryDamaged`.
    func require(_ id: ChunkID) throws(BackupError) {
        try guarded { () throws(BackupError) in
            if open.values.contains(where: { $0.contains(id) }) { return }
            guard let known = try catalog.findIntact(id) else {
                throw BackupError(
                    .repositoryDamaged, "chunk \(id), which a new snapshot refers to, is not in the repository",
                    path: layout.packs, remedy: "Store the file anew instead of taking it from an older snapshot.")
            }
            reliedOn.insert(known.pack)
        }
    }

    /// Where a chunk of this backup or an earlier one lies; a pack that is still open has the name `PackID.unpublished`.
    func locate(_ id: ChunkID) throws(BackupError) -> StoredChunk? {
        for pack in open.values {
            if let chunk = pack.storedChunk(id) { return chunk }
        }
        return try catalog.findIntact(id)
    }

    /// A chunk's plain bytes while its pack is still open; `nil` when it is not in an open pack.
    func openPlainBytes(_ id: ChunkID) throws(BackupError) -> [UInt8]? {
        for pack in open.values {
            guard let chunk = pack.storedChunk(id), let stored = try pack.storedBytes(id) else { continue }
            if chunk.codec == .raw { return stored }
            return ChunkDecoder.expand(stored, plainLength: Int(chunk.plainLength))
        }
        return nil
    }

    /// Makes everything durable and known to the catalog: files' chunks first, then what refers to them.
    func publishAll() throws(BackupError) {
        try guarded { () throws(BackupError) in
            try publish(.data)
            try publish(.metadata)
            for pack in reliedOn where !FileSystem.exists(layout.packPath(of: pack)) {
                throw BackupError(
                    .repositoryDamaged, "a pack that the backup relies on vanished while it ran",
                    path: layout.packPath(of: pack), remedy: "Run the backup again: it stores the missing data anew.")
            }
        }
    }

    /// Removes what this backup wrote. Errors are passed over: what stays is found and used by the next backup.
    func discard() {
        failure = failure ?? BackupError(.invalidArgument, "the backup was abandoned")
        for pack in open.values { pack.discard() }
        open = [:]
        // The file first, then the catalog's row: see `Catalog.add`.
        for pack in published { try? FileSystem.removeFile(layout.packPath(of: pack)) }
        try? catalog.remove(published)
        published = []
    }

    /// From now on the packs belong to the repository.
    func keep() { published = [] }

    private func openPack(_ kind: PackKind) throws(BackupError) -> PackWriter {
        if let pack = open[kind] { return pack }
        let pack = try PackWriter(kind: kind, temporaryFolder: layout.temporary)
        open[kind] = pack
        return pack
    }

    private func publish(_ kind: PackKind) throws(BackupError) {
        guard let pack = open[kind] else { return }
        let finished = try pack.finish(packsFolder: layout.packs)
        if finished.isNew { published.append(finished.id) }
        try catalog.add(finished.id, finished.index, byteCount: finished.byteCount)
        // Only now: until the catalog knows them, its chunks are found in the open pack.
        open[kind] = nil
    }

    private func guarded<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        if let failure {
            throw BackupError(
                .invalidArgument, "the backup goes on after it failed: \(failure.message)", path: failure.path,
                remedy: "Start a new backup.")
        }
        do {
            return try body()
        } catch {
            failure = error
            throw error
        }
    }
}
