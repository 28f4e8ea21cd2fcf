import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Refreshes one cache, one process at a time.
final class RemoteRefresher: Sendable {
    private let storage: any ObjectStorage
    private let layout: RepositoryLayout
    private let cache: PackCache
    private let folder: String
    /// What this process has stored since the last refresh, so that it need not be transferred.
    private let stored = Mutex<[(name: ObjectName, sha256: SHA256Digest, version: ObjectVersion)]>([])

    /// - Parameters:
    ///   - layout: of the cached repository's folder.
    ///   - folder: of the cache.
    init(_ storage: any ObjectStorage, _ layout: RepositoryLayout, _ cache: PackCache, folder: String) {
        self.storage = storage
        self.layout = layout
        self.cache = cache
        self.folder = folder
    }

    private var lockPath: String { "\(folder)/lock" }

    /// - Throws: as `RemoteRefresh.run`.
    func run(_ scope: RefreshScope, progress: ProgressHandler? = nil) throws(BackupError) {
        // The cache can be removed at any time.
        try cache.makeFolders()
        // Another process that refreshes it now does the work for this one.
        let lock = try WaitingLock.acquire(path: lockPath)
        defer { withExtendedLifetime(lock) {} }
        let stored = stored.withLock { stored in
            defer { stored = [] }
            return stored
        }
        try RemoteRefresh(
            storage: storage, layout: layout, cache: cache, versionsPath: "\(folder)/versions", stored: stored,
            progress: progress
        ).run(scope)
    }

    /// Notes an object that this process has stored, and is about to write into the cache.
    func note(_ object: MirrorObject, _ sha256: SHA256Digest, _ version: ObjectVersion) {
        // Their files get the storage's time.
        guard !object.isDated else { return }
        stored.withLock { $0.append((object.name, sha256, version)) }
    }
}
