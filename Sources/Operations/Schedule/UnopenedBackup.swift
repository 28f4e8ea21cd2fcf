import AppData
import BackupCore
import SystemIO

/// An automatic backup that could not begin: the repository's disk is missing, its password is wrong, or it is damaged.
public enum UnopenedBackup {
    /// Records that a store could not be opened for a scheduled backup, and reports it like other failures. Does nothing if none was due.
    public static func note(_ error: BackupError, storeAt path: String) {
        guard error.code != .interrupted, error.code != .usage, let place = try? NoticePlace(StorePaths(root: path)),
            isOn(place), noteFailureIfDue(place.paths, place.settings.effectiveSchedule(place.definition), isStart: true)
        else { return }
        AutomaticNotifier(place, log: nil, isBeside: false).note(error)
    }

    /// As far as it is known without the repository.
    private static func isOn(_ place: NoticePlace) -> Bool {
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
