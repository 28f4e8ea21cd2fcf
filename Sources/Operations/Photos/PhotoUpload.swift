import BackupCore
import BackupRepository
import ObjectStorage
import Photos
import SystemIO

/// Uploads the starred photos of a store to its remote for photos.
public struct PhotoUpload: Sendable {
    private let store: Store
    private let remote: RemoteSettings
    private let stars: StarredPhotos
    private let isAutomatic: Bool
    private let retried: QueueWorker.Retried

    /// - Parameters:
    ///   - isAutomatic: whether no user has asked for it.
    ///   - retried: which photos that have failed before are tried again.
    /// - Throws: `usage` for a store that has no remote for photos, or an app without a media folder.
    public init(
        store: Store, isAutomatic: Bool = false, retried: QueueWorker.Retried = .all
    ) throws(BackupError) {
        guard let remote = store.settings.photosRemote else { throw Self.noRemote(store.paths.settings) }
        self.store = store
        self.remote = remote
        self.isAutomatic = isAutomatic
        self.retried = retried
        stars = try StarredPhotos(store)
    }

    static func noRemote(_ path: String) -> BackupError {
        BackupError(
            .usage, "this store has no remote for photos, so they cannot be uploaded", path: path,
            remedy: "Add one with: backupfs remote add NAME URL --kind photos")
    }

    /// Whether there is anything to upload.
    public var hasWork: Bool {
        (try? QueueWorker.hasWork(stars.queue, retried: retried, place: remote.url)) == true
    }

    /// - Throws: `busy` while another process uploads; `interrupted`; errors of the remote and of the catalog.
    public func run(
        progress: ProgressHandler? = nil, note: (@Sendable (QueueItem) -> Void)? = nil
    ) throws(BackupError) -> QueueWorker.Summary {
        try store.recorded(.photoUpload, isAutomatic: isAutomatic) { (facts) throws(BackupError) in
            facts.remote = remote.name
            var options = QueueWorker.Options()
            options.place = remote.url
            options.parallelCount = min(options.parallelCount, remote.parallelRequests)
            options.retried = retried
            options.note = note
            options.thumbnail = NewestThumbnails(store).thumbnail
            let summary = try Self.cancellable { () throws(BackupError) in
                let bucket = try openBucket()
                let worker = QueueWorker(stars.queue, of: stars.folder, to: bucket, options: options, progress: progress)
                let summary = try worker.run()
                // What stays is looked at again at the next run.
                try? stars.tidyCopies(bucket: bucket)
                return summary
            }
            facts.sizeBytes = summary.uploadedBytes
            if let error = summary.stop ?? summary.failures.first?.error {
                facts.note(error)
                facts.result = .failed
            }
            return summary
        }
    }

    /// Removes kept copies that are elsewhere by now.
    func tidyCopies() throws(BackupError) {
        let bucket = try openBucket()
        try stars.tidyCopies(bucket: bucket)
    }

    /// Makes the catalog again from what is in the bucket.
    /// - Returns: the number of photos, and the names of objects that are none.
    public func rebuildCatalog() throws(BackupError) -> (count: Int, unknown: [String]) {
        try Self.cancellable { () throws(BackupError) in
            try stars.queue.make()
            let lock = try stars.queue.lockForWorker()
            defer { withExtendedLifetime(lock) {} }
            let (catalog, unknown) = try openBucket().rebuildCatalog()
            try stars.queue.keep(catalog)
            return (catalog.count, unknown)
        }
    }

    /// Photos in a repository would be taken for damage of it.
    private func openBucket() throws(BackupError) -> PhotoBucket {
        let storage = try remote.open(in: store.paths)
        try RepositoryMirror.requireNoRepository(in: storage)
        return PhotoBucket(storage)
    }

    /// In a command, a signal cancels it; in a mount, the end of the mount.
    private static func cancellable<Value>(_ body: () throws(BackupError) -> Value) throws(BackupError) -> Value {
        let cancellation = Cancellation.current ?? Cancellation()
        return try CancellingSignals.run { () throws(BackupError) in try cancellation.run(body) }
    }
}
