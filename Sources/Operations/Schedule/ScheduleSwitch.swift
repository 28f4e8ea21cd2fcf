import AppData
import BackupCore
import Synchronization
import SystemIO

/// The app's own switch for automatic backups, which lies in its database: read again when that has changed. Where it cannot be read, what was known
/// before counts, and else it is on: the backup then says itself what is wrong.
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
    /// When backups are made by themselves.
    func effectiveSchedule(_ definition: AppDefinition) -> Schedule {
        Self.scheduleOfEnvironment ?? schedule ?? definition.schedule
    }

    /// The setting of the app that would switch the schedule off; `nil` where the schedule does not hang on one: only that of the definition gives
    /// way to the app's own switch.
    func scheduleSwitchName(_ definition: AppDefinition) -> String? {
        guard Self.scheduleOfEnvironment == nil, schedule == nil, definition.schedule != .off else { return nil }
        return definition.scheduleSwitch
    }

    private static var scheduleOfEnvironment: Schedule? { Environment.schedule.flatMap { try? Schedule(parsing: $0) } }
}

extension Store {
    /// The setting of the app that would switch the schedule off.
    var scheduleSwitchName: String? { settings.scheduleSwitchName(definition) }

    /// The setting of the app that has switched the schedule off, as far as its database can be read; `nil` while backups are made.
    func scheduleSwitchedOffBy() -> String? {
        guard let name = scheduleSwitchName, scheduleSwitch.isOff(in: statusRecords.database) else { return nil }
        return name
    }
}
