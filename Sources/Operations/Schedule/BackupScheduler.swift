import BackupCore
import SystemIO

/// Makes the backups of a store's schedule while the store is mounted, in a thread of its own. How they went stands in the status and in the log.
public final class BackupScheduler: Sendable {
    /// How long it sleeps at most: clocks jump, and settings change.
    private static let longestWait: UInt64 = 30_000_000_000
    /// While somebody else's operation runs.
    private static let busyWait: UInt64 = 5_000_000_000
    /// After each attempt, whatever was the matter.
    private static let shortestWait: UInt64 = 1_000_000_000

    private struct State {
        var isEnding = false
        var isWoken = false
    }

    private let store: Store
    private let state = Monitor(State())
    private let thread: SystemThread

    /// Starts it. What is due is made at once.
    /// - Parameter onBackup: given each backup that it has made, in that thread.
    /// - Throws: `inputOutput` when the system has no thread to give.
    public init(store: Store, onBackup: @escaping @Sendable (BackupResult) -> Void) throws(BackupError) {
        self.store = store
        thread = try SystemThread { [state] in Self.run(store, state, onBackup) }
    }

    /// Makes it look again now: the settings may have changed.
    public func wake() { state.changeWakingAll { $0.isWoken = true } }

    /// Ends it. A backup that it is just making is cancelled, and made up for at the next start. Call it once.
    public func end() {
        state.changeWakingAll { $0.isEnding = true }
        store.monitor.cancel(AutomaticBackup.operationName)
        thread.join()
    }

    private static func run(_ store: Store, _ state: Monitor<State>, _ onBackup: (BackupResult) -> Void) {
        var isStart = true
        while !state.withLock({ $0.isEnding }) {
            store.reloadSettings()
            let wait = turn(store, isStart: isStart, onBackup)
            isStart = false
            _ = state.wait(until: { $0.isEnding || $0.isWoken }, forNanoseconds: wait)
            state.withLock { $0.isWoken = false }
        }
    }

    /// - Returns: how long to wait until the next.
    private static func turn(_ store: Store, isStart: Bool, _ onBackup: (BackupResult) -> Void) -> UInt64 {
        do throws(BackupError) {
            switch try AutomaticBackup(store: store).runIfDue(isStart: isStart, tellsBeside: true) {
            case .notDue(let next?):
                let now = SystemClock.now()
                guard next > now else { return shortestWait }
                let seconds = min(UInt64(max(0, next.secondsSince(now).addingSaturating(1))), longestWait / 1_000_000_000)
                return max(seconds * 1_000_000_000, shortestWait)
            case .made(let result):
                onBackup(result)
                return longestWait
            case .off, .switchedOff, .quiet, .notDue(nil), .unchanged: return longestWait
            }
        } catch {
            return error.code == .busy ? busyWait : longestWait
        }
    }
}
