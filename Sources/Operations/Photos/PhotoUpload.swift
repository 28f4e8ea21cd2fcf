import BackupCore
import ObjectStorage
import Photos
import SystemIO

/// Uploads the starred photos of a store to its remote for photos.
public struct PhotoUpload: Sendable {
    private let store: Store
    private let remote: RemoteSettings
    private let stars: StarredPhotos
    private let isAutomatic: Bool

    /// - Parameter isAutomatic: whether no user has asked for it: then only photos that the network has failed are tried again.
    /// - Throws: `usage` for a store that has no remote for photos, or an app without a media folder.
    public init(store: Store, isAutomatic: Bool = false) throws(BackupError) {
        guard let remote = store.settings.photosRemote else { throw Self.noRemote(store.paths.settings) }
        self.store = store
        self.remote = remote
        self.isAutomatic = isAutomatic
        stars = try StarredPhotos(store)
    }

    static func noRemote(_ path: String) -> BackupError {
        BackupError(
            .usage, "this store has no remote for photos, so they cannot be uploaded", path: path,
            remedy: "Add one with: backupfs remote add NAME URL --kind photos")
    }

    /// Whether there is anything to upload.
    public var hasWork: Bool {
        (try? QueueWorker.hasWork(stars.queue, retried: isAutomatic ? .network : .all)) == true
    }

    /// - Throws: `busy` while another process uploads; `interrupted`; errors of the remote and of the catalog.
    public func run(
        progress: ProgressHandler? = nil, note: (@Sendable (QueueItem) -> Void)? = nil
    ) throws(BackupError) -> QueueWorker.Summary {
        try store.recorded(.photoUpload, isAutomatic: isAutomatic) { (facts) throws(BackupError) in
            facts.remote = remote.name
            let bucket = PhotoBucket(try remote.open(in: store.paths))
            var options = QueueWorker.Options()
            options.parallelCount = min(options.parallelCount, remote.parallelRequests)
            options.retried = isAutomatic ? .network : .all
            options.note = note
            let worker = QueueWorker(stars.queue, of: stars.folder, to: bucket, options: options, progress: progress)
            let summary = try CancellingSignals.run { () throws(BackupError) in try worker.run() }
            facts.sizeBytes = summary.uploadedBytes
            if let error = summary.stop ?? summary.failures.first?.error {
                facts.note(error)
                facts.result = .failed
            }
            return summary
        }
    }

    /// Makes the catalog again from what is in the bucket.
    /// - Returns: the number of photos, and the names of objects that are none.
    public func rebuildCatalog() throws(BackupError) -> (count: Int, unknown: [String]) {
        try CancellingSignals.run { () throws(BackupError) in
            let bucket = PhotoBucket(try remote.open(in: store.paths))
            let (catalog, unknown) = try bucket.rebuiltCatalog()
            let published = try bucket.publish(catalog, replacing: true)
            try stars.queue.make()
            try stars.queue.keep(published)
            return (published.count, unknown)
        }
    }
}
