import AppData
import BackupCore
import SystemIO

/// Makes the backups of a store's schedule while the store is mounted, on a separate thread. The status and the log have the
/// results.
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
        store.monitor.cancel(OperationKind.automaticBackupName)
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
            case .off, .switchedOff, .paused, .quiet, .notDue(nil), .unchanged: return longestWait
            }
        } catch {
            return error.code == .busy ? busyWait : longestWait
        }
    }
}

/// An automatic backup that could not begin: the repository's disk is missing, its password is wrong, or it is damaged.
public enum UnopenedBackup {
    /// Records that a store could not be opened for a scheduled backup, and reports it like other failures. Does nothing if none
    /// was due.
    public static func note(_ error: BackupError, storeAt path: String) {
        guard error.code != .interrupted, error.code != .usage, let place = try? NotificationContext(StorePaths(root: path)),
            isOn(place), noteFailureIfDue(place.paths, place.settings.effectiveSchedule(place.definition), isStart: true)
        else { return }
        AutomaticNotifier(place, log: nil, isBeside: false).note(error)
    }

    /// As far as it is known without the repository.
    private static func isOn(_ place: NotificationContext) -> Bool {
        if (try? StoreIdentity.read(place.paths.identity))?.isQuiet == true { return false }
        guard place.settings.scheduleSwitchName(place.definition) != nil else { return true }
        let database = AppDatabase(
            at: place.paths.resolve(place.settings.databasePath), definition: place.definition,
            busyTimeoutSeconds: StatusRecords.busyTimeoutSeconds)
        return !ScheduleSwitch().isOff(in: database)
    }

    /// Records in `schedule.state` that a backup failed before it began, if one was due.
    /// - Parameter isStart: whether a previously failed one is retried immediately.
    /// - Returns: whether one was due.
    static func noteFailureIfDue(_ paths: StorePaths, _ schedule: Schedule, isStart: Bool) -> Bool {
        let lock: AdvisoryLock?
        do throws(BackupError) {
            lock = try AdvisoryLock(path: paths.operationLock)
        } catch {
            // The running operation reports its own outcome.
            if error.code == .busy { return false }
            lock = nil
        }
        return withExtendedLifetime(lock) {
            let now = SystemClock.now()
            let known = ScheduleState.read(paths.scheduleState)
            let begun = known.flatMap { $0.schedule == schedule.text ? $0 : nil }
            var state = (begun ?? ScheduleState(schedule: schedule.text, handledAt: now)).believed(at: now)
            let due = isStart && state.failureCount > 0 ? now : state.next(of: schedule)
            let isDue = due.map { $0 <= now } ?? false
            if isDue { state.noteFailure(at: now) }
            // On a full or read-only disk it is due again next time.
            if state != known { try? state.write(to: paths.scheduleState) }
            return isDue
        }
    }
}
