import BackupCore
import SystemIO

/// Makes the backups of a store's schedule while the store is mounted, on a separate thread. The status and the log have the results.
public final class BackupScheduler: Sendable {
    /// The longest sleep: clocks jump, and settings change.
    private static let longestWait: UInt64 = 30_000_000_000
    /// The sleep while another operation runs.
    private static let busyWait: UInt64 = 5_000_000_000
    /// The shortest sleep after an attempt, whatever its outcome.
    private static let shortestWait: UInt64 = 1_000_000_000

    private struct State {
        var isEnding = false
        var isWoken = false
    }

    private let store: Store
    private let state = Monitor(State())
    private let thread: SystemThread

    /// Starts the thread. A due backup is made immediately.
    /// - Parameter onBackup: receives each backup that it makes, on that thread.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(store: Store, onBackup: @escaping @Sendable (BackupResult) -> Void) throws(BackupError) {
        self.store = store
        thread = try SystemThread { [state] in Self.run(store, state, onBackup) }
    }

    /// Makes it check again now: the settings may have changed.
    public func wake() { state.changeWakingAll { $0.isWoken = true } }

    /// Ends the thread. Cancels a running backup, which is made up for at the next start. Call it once.
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

    /// - Returns: the time until the next check, in nanoseconds.
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
