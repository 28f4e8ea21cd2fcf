import BackupCore
import SystemIO

/// Uploads a store's backups to its automatic remotes while the store is mounted, on a separate thread: after each backup, at the
/// start of the mount what was left, and failed syncs again with growing waits. The status and the log have the results.
public final class RemoteUploader: Sendable {
    /// The longest sleep: clocks jump, settings change, and other processes make backups.
    private static let longestWaitNanoseconds: UInt64 = 30_000_000_000
    /// A folder on a server that does not answer must not keep the mount from ending. What was not uploaded is retried.
    private static let endNanoseconds: UInt64 = 1_000_000_000

    private struct State {
        var isEnding = false
        var hasEnded = false
        var isWoken = false
        /// Whether to retry without waiting for the time of a retry.
        var retriesNow = true
    }

    private let state = Monitor(State())
    private let cancellation = Cancellation()
    private let thread: SystemThread

    /// Starts the thread. What is pending is uploaded immediately.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(store: Store) throws(BackupError) {
        thread = try SystemThread { [state, cancellation] in
            Self.run(store, state, cancellation)
            state.changeWakingAll { $0.hasEnded = true }
        }
    }

    /// Uploads the backup that was just made. Does not wait for that.
    public func noteBackup() {
        state.changeWakingAll { state in
            state.isWoken = true
            state.retriesNow = true
        }
    }

    /// Makes it check again now: the settings may have changed.
    public func wake() { state.changeWakingAll { $0.isWoken = true } }

    /// Cancels a running upload, which is retried at the next start, and ends the thread. Returns within about a second. Call it
    /// once.
    public func end() {
        state.changeWakingAll { $0.isEnding = true }
        cancellation.request()
        if state.wait(until: { $0.hasEnded }, forNanoseconds: Self.endNanoseconds) { thread.join() } else { thread.detach() }
    }

    private static func run(_ store: Store, _ state: Monitor<State>, _ cancellation: Cancellation) {
        while true {
            let (isEnding, retriesNow) = state.withLock { state in
                defer { (state.isWoken, state.retriesNow) = (false, false) }
                return (state.isEnding, state.retriesNow)
            }
            if isEnding { return }
            store.reloadSettings()
            for remote in AutomaticSync(store: store).due(retriesNow: retriesNow) where !state.withLock({ $0.isEnding }) {
                let sync = SyncOperation(store: store, remote: remote, isAutomatic: true)
                // The state of the remote and the log have the error.
                _ = try? cancellation.run { () throws(BackupError) in try sync.run() }
            }
            _ = state.wait(until: { $0.isEnding || $0.isWoken }, forNanoseconds: longestWaitNanoseconds)
        }
    }
}
