import AppData
import BackupCore
import SystemIO

/// Exchanges changes with other devices while a store is mounted, on a separate thread: after each change of the app's database,
/// and every two seconds what others have changed. The status has the results.
public final class DeviceSyncThread: Sendable {
    /// How often it looks whether the app's database has changed: a few system calls.
    private static let lookNanoseconds: UInt64 = 500_000_000
    /// How often the remote is asked: one request for each other device.
    private static let pollNanoseconds: UInt64 = 2_000_000_000
    /// How often devices that are not known yet are looked for.
    private static let discoveryNanoseconds: UInt64 = 60_000_000_000
    /// The longest wait after failures, and while the exchange is off.
    private static let longestWaitNanoseconds: UInt64 = 60_000_000_000
    private static let offNanoseconds: UInt64 = 10_000_000_000

    private let thread: WakeableThread

    /// Starts the thread.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(store: Store) throws(BackupError) {
        thread = try WakeableThread {
            let rounds = Rounds(store)
            return { isWoken, cancellation in rounds.turn(isWoken, cancellation) }
        }
    }

    /// Makes it look again now: the settings may have changed.
    public func wake() { thread.wake() }

    /// Cancels a running round, which the next one continues, and ends the thread. Returns within about a second. Call it once.
    public func end() { thread.end() }

    /// What the thread does, for itself alone.
    private final class Rounds {
        private let store: Store
        private let operation: DeviceSyncOperation
        /// Of the database when its changes were last looked for.
        private var known: DatabaseChangeState?
        private var nextPoll: UInt64 = 0
        private var nextDiscovery: UInt64 = 0
        private var failureCount: UInt64 = 0

        init(_ store: Store) {
            self.store = store
            operation = DeviceSyncOperation(store: store, isAutomatic: true)
        }

        /// - Returns: how long to wait until the next one, in nanoseconds.
        func turn(_ isWoken: Bool, _ cancellation: Cancellation) -> UInt64 {
            if isWoken { (nextPoll, nextDiscovery) = (0, 0) }
            let now = SystemClock.monotonicNanoseconds()
            if now >= nextPoll { store.reloadSettings() }
            guard store.settings.deviceSyncRemote != nil else {
                nextPoll = now + DeviceSyncThread.offNanoseconds
                return DeviceSyncThread.offNanoseconds
            }
            let present = store.database.changeState()
            let hasChanged = present != known
            guard now >= nextPoll || hasChanged else { return DeviceSyncThread.lookNanoseconds }
            // While the remote fails, changes are only queued.
            let asksRemote = now >= nextPoll || failureCount == 0
            let looksForDevices = now >= nextDiscovery
            do throws(BackupError) {
                let outcome = try cancellation.run { () throws(BackupError) in
                    try operation.run(
                        findsChanges: hasChanged, asksRemote: asksRemote, looksForDevices: looksForDevices)
                }
                if case .done = outcome { known = present }
                guard asksRemote else { return DeviceSyncThread.lookNanoseconds }
                failureCount = 0
                if looksForDevices { nextDiscovery = now + DeviceSyncThread.discoveryNanoseconds }
                nextPoll = SystemClock.monotonicNanoseconds() + DeviceSyncThread.pollNanoseconds
            } catch {
                // The status has the error. What is only busy will soon be free.
                failureCount = error.code == .busy || error.code == .databaseInUse ? 0 : min(failureCount + 1, 6)
                let delay = DeviceSyncThread.pollNanoseconds << failureCount
                nextPoll = SystemClock.monotonicNanoseconds() + min(delay, DeviceSyncThread.longestWaitNanoseconds)
                nextDiscovery = 0
            }
            return DeviceSyncThread.lookNanoseconds
        }
    }
}
