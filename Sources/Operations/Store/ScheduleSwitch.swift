import AppData
import BackupCore
import Synchronization
import SystemIO

/// The app's own setting for automatic backups, which is in its database: read again when that has changed. If it is unreadable,
/// the last known value applies, or else it is on: the backup itself then reports the problem.
final class ScheduleSwitch: Sendable {
    private let known = Mutex<(state: DatabaseChangeState, isOff: Bool)?>(nil)

    func isOff(in database: AppDatabase) -> Bool {
        guard database.definition.scheduleSwitch != nil else { return false }
        let state = database.changeState()
        let before = known.withLock { $0 }
        if let before, before.state == state { return before.isOff }
        let found = try? database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.isScheduleSwitchedOff() }
        guard let found else { return before?.isOff ?? false }
        known.withLock { $0 = (state, found) }
        return found
    }
}

extension StoreSettings {
    /// The schedule in force.
    func effectiveSchedule(_ definition: AppDefinition) -> Schedule {
        Self.scheduleOfEnvironment ?? schedule ?? definition.schedule
    }

    /// The app's setting that would turn the schedule off; `nil` where the schedule depends on none: only the definition's
    /// schedule yields to the app's own setting.
    func scheduleSwitchName(_ definition: AppDefinition) -> String? {
        guard Self.scheduleOfEnvironment == nil, schedule == nil, definition.schedule != .off else { return nil }
        return definition.scheduleSwitch
    }

    private static var scheduleOfEnvironment: Schedule? { Setting.schedule.override.flatMap { try? Schedule(parsing: $0) } }
}

extension Store {
    /// When a pause of the schedule ends; `nil` if there is none. One that would last longer than a pause may was begun by a
    /// clock that was ahead, and does not count: it could keep backups from being made for years.
    func schedulePausedUntil(_ now: Timestamp) -> Timestamp? {
        guard schedule != .off, let end = settings.schedulePausedUntil, end > now else { return nil }
        return end.secondsSince(now) <= StoreSettings.longestPauseSeconds ? end : nil
    }

    /// The app's setting that would turn the schedule off.
    var scheduleSwitchName: String? { settings.scheduleSwitchName(definition) }

    /// The app's setting that has turned the schedule off, as far as its database can be read; `nil` while backups are made.
    func scheduleSwitchedOffBy() -> String? {
        guard let name = scheduleSwitchName, scheduleSwitch.isOff(in: statusRecords.database) else { return nil }
        return name
    }
}
