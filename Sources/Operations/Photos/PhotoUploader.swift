import BackupCore
import Photos
import SystemIO

/// Uploads starred photos while the store is mounted, on a separate thread: what was left at the start of the mount, what is
/// starred meanwhile, and again what the network has failed. The status and the log have the results.
public final class PhotoUploader: Sendable {
    /// Other processes star photos, too.
    private static let longestWaitNanoseconds: UInt64 = 5_000_000_000
    /// The waits after runs that have failed in a row grow to this.
    private static let longestRetryNanoseconds: UInt64 = 600_000_000_000
    private static let firstRetryNanoseconds: UInt64 = 15_000_000_000
    private static let endNanoseconds: UInt64 = 1_000_000_000

    private struct State {
        var isEnding = false
        var hasEnded = false
        var isWoken = false
    }

    private let state = Monitor(State())
    private let cancellation = Cancellation()
    private let thread: SystemThread

    /// Starts the thread.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(store: Store) throws(BackupError) {
        thread = try SystemThread { [state, cancellation] in
            Self.run(store, state, cancellation)
            state.changeWakingAll { $0.hasEnded = true }
        }
    }

    /// Makes it look at once, and try again what has failed: a photo was starred, or the settings have changed.
    public func wake() { state.changeWakingAll { $0.isWoken = true } }

    /// Cancels a running upload, which goes on at the next start, and ends the thread. Returns within about a second. Call it
    /// once.
    public func end() {
        state.changeWakingAll { $0.isEnding = true }
        cancellation.request()
        if state.wait(until: { $0.hasEnded }, forNanoseconds: Self.endNanoseconds) { thread.join() } else { thread.detach() }
    }

    private static func run(_ store: Store, _ state: Monitor<State>, _ cancellation: Cancellation) {
        var failureCount: UInt64 = 0
        var retryAt: UInt64 = 0
        while true {
            let (isEnding, isWoken) = state.withLock { state in
                defer { state.isWoken = false }
                return (state.isEnding, state.isWoken)
            }
            if isEnding { return }
            let now = SystemClock.monotonicNanoseconds()
            if isWoken || now >= retryAt, QueueFolder(root: store.paths.photos).exists {
                store.reloadSettings()
                if let upload = try? PhotoUpload(store: store, isAutomatic: true), upload.hasWork {
                    let summary = try? cancellation.run { () throws(BackupError) in try upload.run() }
                    let hasFailed = summary.map { $0.stop != nil } ?? true
                    failureCount = hasFailed ? failureCount + 1 : 0
                    let wait = min(firstRetryNanoseconds << min(failureCount, 10), longestRetryNanoseconds)
                    retryAt = hasFailed ? SystemClock.monotonicNanoseconds() + wait : 0
                }
            }
            _ = state.wait(until: { $0.isEnding || $0.isWoken }, forNanoseconds: longestWaitNanoseconds)
        }
    }
}
