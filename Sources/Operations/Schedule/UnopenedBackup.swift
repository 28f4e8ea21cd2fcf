import AppData
import BackupCore
import SystemIO

/// An automatic backup that could not begin: the disk of the repository is away, its password is wrong, or it is damaged.
public enum UnopenedBackup {
    /// Notes that a store did not open for the backup of its schedule, and tells of it as of other failures. Does nothing when none was due.
    public static func note(_ error: BackupError, storeAt path: String) {
        guard error.code != .interrupted, error.code != .usage, let place = try? NoticePlace(StorePaths(root: path)),
            isOn(place), noteFailureIfDue(place.paths, place.settings.effectiveSchedule(place.definition), isStart: true)
        else { return }
        AutomaticNotifier(place, log: nil, isBeside: false).note(error)
    }

    /// As far as it can be known without the repository.
    private static func isOn(_ place: NoticePlace) -> Bool {
        if (try? StoreIdentity.read(place.paths.identity))?.isQuiet == true { return false }
        guard place.settings.scheduleSwitchName(place.definition) != nil else { return true }
        let database = AppDatabase(
            at: place.paths.resolve(place.settings.databasePath), definition: place.definition,
            busyTimeoutSeconds: StatusRecords.busyTimeoutSeconds)
        return !ScheduleSwitch().isOff(in: database)
    }

    /// Notes in `schedule.state` that one has failed before it began, if one was due.
    /// - Parameter isStart: whether one that failed before is tried again at once.
    /// - Returns: whether one was.
    static func noteFailureIfDue(_ paths: StorePaths, _ schedule: Schedule, isStart: Bool) -> Bool {
        let lock: AdvisoryLock?
        do throws(BackupError) {
            lock = try AdvisoryLock(path: paths.operationLock)
        } catch {
            // The operation that runs says itself how it goes.
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
            // On a disk that is full or read-only it is due again the next time.
            if state != known { try? state.write(to: paths.scheduleState) }
            return isDue
        }
    }
}
