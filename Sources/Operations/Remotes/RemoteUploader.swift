import BackupCore
import SystemIO

/// Uploads a store's backups to its automatic remotes while the store is mounted, on a separate thread: after each backup, at the
/// start of the mount what was left, and failed syncs again with growing waits. The status and the log have the results.
public final class RemoteUploader: Sendable {
    /// The longest sleep: clocks jump, settings change, and other processes make backups.
    private static let longestWaitNanoseconds: UInt64 = 30_000_000_000

    /// Whether to retry without waiting for the time of a retry.
    private let retriesNow = Monitor(true)
    private let thread: WakeableThread

    /// Starts the thread. What is pending is uploaded immediately.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(store: Store) throws(BackupError) {
        thread = try WakeableThread { [retriesNow] in
            { _, cancellation in
                let retriesNow = retriesNow.withLock { retriesNow in
                    defer { retriesNow = false }
                    return retriesNow
                }
                store.reloadSettings()
                for remote in AutomaticSync(store: store).due(retriesNow: retriesNow) where !cancellation.isCancelled {
                    let sync = SyncOperation(store: store, remote: remote, isAutomatic: true)
                    // The state of the remote and the log have the error.
                    _ = try? cancellation.run { () throws(BackupError) in try sync.run() }
                }
                return Self.longestWaitNanoseconds
            }
        }
    }

    /// Uploads the backup that was just made. Does not wait for that.
    public func noteBackup() {
        retriesNow.withLock { $0 = true }
        thread.wake()
    }

    /// Makes it check again now: the settings may have changed.
    public func wake() { thread.wake() }

    /// Cancels a running upload, which is retried at the next start, and ends the thread. Returns within about a second. Call it
    /// once.
    public func end() { thread.end() }
}
