import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Keeps in the cache of a copy what this machine uploads to it: records, labels, batches of indexes and packs of metadata. The
/// first look at a backup that was made here then transfers nothing of it. The data of files is not kept: a restore from a copy
/// reads the copy.
///
/// Errors are ignored: what is not kept is transferred when it is needed. The next refresh removes what the storage does not
/// have.
final class UploadedObjects: Sendable {
    private let layout: RepositoryLayout
    private let cache: PackCache
    private let refresher: RemoteRefresher
    /// Of packs, for one update. The rest is transferred when it is needed.
    private static let packLimitBytes: UInt64 = 256 << 20
    /// So much of the disk stays free: a cache must not take the space for backups.
    private static let reserveBytes: UInt64 = 1 << 30

    /// Names of the packs in the cache; `nil` until they are needed.
    private let cachedPacks = Mutex<Set<PackID>?>(nil)
    /// How many more bytes of packs are kept.
    private let restBytes = Mutex(packLimitBytes)

    init(_ layout: RepositoryLayout, _ cache: PackCache, _ refresher: RemoteRefresher) {
        self.layout = layout
        self.cache = cache
        self.refresher = refresher
    }

    /// The configuration is left out, since it makes the cache count as one that was in line with its storage, and the register,
    /// since what it lists may not be in the cache.
    func keep(_ object: MirrorObject, _ bytes: [UInt8], _ version: ObjectVersion) {
        guard object != .configuration, object != .register, !object.isDated else { return }
        ignoringErrors { () throws(BackupError) in
            try cache.replaceFile(object.path(in: layout), bytes)
            refresher.versions.note(object.name, SHA256Hasher.hash(bytes), version)
        }
    }

    /// Keeps a pack if it has metadata. Its index and its chunks are compared with their checksums when they are read.
    /// - Parameter file: of this machine's repository, which is only read.
    func keep(_ pack: PackID, _ file: SharedFile) {
        ignoringErrors { () throws(BackupError) in
            let header = try file.readExactly(at: 0, count: StoredPackIndex.headerByteCount)
            guard StoredPackIndex.isMetadata(header), takeSpace(file.size) else { return }
            let draft = "\(cache.temporaryFolder)/\(RandomToken.make())"
            do throws(BackupError) {
                let copy = try PrivateFile.createFile(draft)
                var offset: UInt64 = 0
                while offset < file.size {
                    let part = try file.readExactly(at: offset, count: Int(min(file.size - offset, 1 << 20)))
                    try copy.writeAll(part)
                    offset += UInt64(part.count)
                }
                try cache.adopt(pack, from: draft, isStored: false)
            } catch {
                try? FileSystem.removeFile(draft)
                throw error
            }
            cachedPacks.withLock { _ = $0?.insert(pack) }
        }
    }

    /// - Returns: whether there is space for a pack.
    private func takeSpace(_ sizeBytes: UInt64) -> Bool {
        let hasRest = restBytes.withLock { rest in
            guard sizeBytes <= rest else { return false }
            rest -= sizeBytes
            return true
        }
        guard hasRest, let space = try? FileSystem.space(at: cache.temporaryFolder) else { return false }
        return space.availableBytes >= sizeBytes + Self.reserveBytes
    }

    func keep(_ id: IndexBatchID, _ bytes: [UInt8]) {
        ignoringErrors { () throws(BackupError) in
            // The packs first, as in a refresh.
            let batch = try IndexBatch(decodingHead: bytes, sizeBytes: bytes.count)
            let known = cachedPacks.withLock { $0 }
            let cached = if let known { known } else { try PackFolder.names(layout) }
            try cache.addEmpty(batch.packs.filter { !cached.contains($0.id) })
            cachedPacks.withLock { $0 = cached.union(batch.packs.map(\.id)) }
            try refresher.batches.add(id, bytes, temporaryFolder: cache.temporaryFolder)
        }
    }

    private func ignoringErrors(_ body: () throws(BackupError) -> Void) { try? body() }
}

extension RemoteRepository {
    /// For an update of the copy that is in the storage; `nil` when the cache has something else.
    public func uploads(from original: Repository) -> KeptUploads? {
        do throws(BackupError) {
            if try FileSystem.exists(layout.config) {
                try Repository.facts(at: layout.path).requireCopy(of: original.facts, at: storage.location)
            }
            try cache.makeFolders()
            let uploads = UploadedObjects(layout, cache, refresher)
            return KeptUploads(
                keepObject: { uploads.keep($0, $1, $2) }, keepPack: { uploads.keep($0, $1) },
                keepBatch: { uploads.keep($0, $1) })
        } catch {
            return nil
        }
    }
}
