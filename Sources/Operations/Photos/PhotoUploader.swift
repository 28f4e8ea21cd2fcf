import BackupCore
import Photos
import SystemIO

/// Uploads starred photos while the store is mounted, on a separate thread: what was left at the start of the mount, what is
/// starred meanwhile, and again what the network has failed. It also removes kept copies that are elsewhere by now. The status
/// and the log have the results of uploads.
public final class PhotoUploader: Sendable {
    /// Other processes star photos, too.
    private static let longestWaitNanoseconds: UInt64 = 5_000_000_000
    /// The waits after runs that have failed in a row grow to this.
    private static let longestRetryNanoseconds: UInt64 = 600_000_000_000
    private static let firstRetryNanoseconds: UInt64 = 15_000_000_000

    /// How often kept copies are looked at: most of the time, all are young or there are none.
    private static let tidyNanoseconds: UInt64 = 600_000_000_000

    private let thread: WakeableThread

    /// Starts the thread.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(store: Store) throws(BackupError) {
        thread = try WakeableThread {
            var failureCount: UInt64 = 0
            var retryAt: UInt64 = 0
            var networkAt: UInt64 = 0
            var tidyAt: UInt64 = 0
            // The stars and the bucket for which there was nothing to do.
            var idle: (version: UInt64, place: String?)?
            return { isWoken, cancellation in
                let now = SystemClock.monotonicNanoseconds()
                guard isWoken || now >= retryAt, QueueFolder(root: store.paths.photos).exists else {
                    return Self.longestWaitNanoseconds
                }
                store.reloadSettings()
                if now >= tidyAt {
                    tidyAt = now + Self.tidyNanoseconds
                    _ = try? cancellation.run { () throws(BackupError) in try StarredPhotos(store).tidyCopiesOfMount() }
                }
                let version = try? store.starList.version()
                let place = store.settings.photosRemote?.url
                if !isWoken, let version, let idle, idle == (version, place) { return Self.longestWaitNanoseconds }
                // A server of one photo that does not answer must not keep the others back.
                let retried = isWoken || now >= networkAt ? QueueWorker.Retried.network : .none
                guard let upload = try? PhotoUpload(store: store, isAutomatic: true, retried: retried) else {
                    return Self.longestWaitNanoseconds
                }
                guard upload.hasWork else {
                    if retried == .network { idle = version.map { ($0, place) } }
                    return Self.longestWaitNanoseconds
                }
                idle = nil
                let summary = try? cancellation.run { () throws(BackupError) in try upload.run() }
                let hasFailed = summary.map { $0.stop != nil } ?? true
                let mustTryAgain = hasFailed || summary?.mustTryAgain == true
                // A run without them says nothing of the photos that have failed before.
                if mustTryAgain { failureCount += 1 } else if retried == .network { failureCount = 0 }
                let wait = min(Self.firstRetryNanoseconds << min(failureCount, 10), Self.longestRetryNanoseconds)
                let next = SystemClock.monotonicNanoseconds() + wait
                retryAt = hasFailed ? next : 0
                if mustTryAgain { networkAt = next } else if retried == .network { networkAt = 0 }
                return Self.longestWaitNanoseconds
            }
        }
    }

    /// Makes it look at once, and try again what has failed: a photo was starred, or the settings have changed.
    public func wake() { thread.wake() }

    /// Cancels a running upload, which goes on at the next start, and ends the thread. Returns within about a second. Call it
    /// once.
    public func end() { thread.end() }
}
