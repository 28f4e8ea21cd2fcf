import BackupCore
import ObjectStorage
import SystemIO

/// A repository in an object storage, used through a cache in a folder of this machine. A copy is only read: a change of it
/// throws `readOnly`. Another one is changed in the storage first, and then in the cache.
///
/// The cache looks like a repository's folder, so that all that reads a repository reads this one, too. Its records, labels and
/// indexes are whole; of packs, it has what was read of them. It can be removed at any time. Several processes can share it.
///
/// No byte is believed because the storage or the cache says so: chunks are compared with their checksums when they are read, and
/// one that differs is transferred once more.
public final class RemoteRepository: Sendable {
    /// How much disk space a cache takes unless a setting says otherwise.
    public static let standardCacheBytes: UInt64 = 4 << 30

    private static let metadataAheadLimitBytes: UInt64 = 8 << 20

    let storage: any ObjectStorage
    let layout: RepositoryLayout
    let cache: PackCache
    let refresher: RemoteRefresher

    /// Sends no request.
    /// - Parameters:
    ///   - cacheFolder: created if it is missing; for this storage alone.
    ///   - cacheBytes: how much disk space the packs in it may take.
    ///   - writing: the same storage, for changes of the repository; `nil` for a copy of another one.
    public init(
        in storage: any ObjectStorage, cacheFolder: String, cacheBytes: UInt64 = standardCacheBytes,
        writingTo writing: (any ObjectStorage)? = nil
    ) throws(BackupError) {
        self.storage = writing ?? storage
        let folder = FileSystem.absolutePath(cacheFolder)
        let plain = RepositoryLayout(path: Self.repositoryPath(inCache: folder))
        cache = PackCache(storage, layout: plain, folder: folder, limitBytes: cacheBytes)
        refresher = RemoteRefresher(storage, plain, cache, folder: folder)
        let reader = RemoteReader(cache, refresher)
        if let writing {
            layout = RepositoryLayout(path: plain.path, upstream: RemoteWriter(writing, plain, reader))
        } else {
            layout = RepositoryLayout(path: plain.path, packSource: reader)
        }
        try cache.makeFolders()
    }

    /// Whether the cache has ever been in line with the storage, so that `open` needs no request.
    public var isCached: Bool { (try? FileSystem.exists(layout.config)) == true }

    /// Brings the cache in line with the storage. Packs are known from batches of indexes, and listed only where these
    /// are missing.
    /// - Throws: `noRepository` when there is no repository in the storage; errors of the storage and of the disk. The cache
    ///   stays as usable as before.
    public func refresh(progress: ProgressHandler? = nil) throws(BackupError) {
        try refresher.run(.records, progress: progress)
    }

    /// Whether the storage still has the repository that is in the cache, with the same password. Takes a small request or two;
    /// what is new is not asked for.
    /// - Throws: errors of the storage and of the disk.
    public func isSame() throws(BackupError) -> Bool { try refresher.isSame() }

    /// Opens the repository as the cache has it, and reduces the cache to its size.
    /// - Parameters:
    ///   - secret: as in `Repository.open`.
    ///   - catalogHome: as there.
    /// - Throws: as there; `noRepository` before the first refresh.
    public func open(secret: RepositorySecretSource? = nil, catalogHome: CatalogHome = .cache) throws(BackupError) -> Repository {
        // Programs that read little each would otherwise fill the disk together.
        sweep()
        return try Repository.open(layout, secret: secret, catalogHome: catalogHome)
    }

    /// Opens the repository with the keys of another one, of which it is a copy, so that no password is needed.
    /// - Throws: as `open`; `notPermitted` when it is a copy of another repository.
    public func open(sharingKeysOf original: Repository, catalogHome: CatalogHome = .cache) throws(BackupError) -> Repository {
        try Repository.facts(at: layout.path).requireCopy(of: original.facts, at: storage.location)
        var secret: RepositorySecretSource?
        if let key = original.masterKey { secret = { (_) throws(BackupError) in .masterKey(key) } }
        return try open(secret: secret, catalogHome: catalogHome)
    }

    /// Transfers the packs of metadata in the background, for a program that is going to list folders: one request after the
    /// other would take longer. Does nothing where they are large.
    public func readMetadataAhead() {
        guard let packs = refresher.batches.metadataPacks(limitBytes: Self.metadataAheadLimitBytes) else { return }
        for (id, sizeBytes) in packs { (try? cache.cached(id))?.expect(0..<sizeBytes) }
    }

    /// The folder of the cached repository in a cache.
    public static func repositoryPath(inCache folder: String) -> String { "\(folder)/repository" }

    /// The folder of the cached repository, for what reads its files.
    public var repositoryPath: String { layout.path }

    /// Reduces the cache to its size.
    public func sweep() { cache.sweep() }
}
