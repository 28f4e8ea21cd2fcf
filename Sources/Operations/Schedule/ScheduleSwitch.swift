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

extension Store {
    /// Whether the schedule is the definition's: that gives way to the app's own switch.
    private var hasScheduleOfDefinition: Bool {
        if let text = Environment.schedule, (try? Schedule(parsing: text)) != nil { return false }
        return settings.schedule == nil && schedule != .off
    }

    /// The setting of the app that would switch the schedule off; `nil` where the schedule does not hang on one.
    var scheduleSwitchName: String? { hasScheduleOfDefinition ? definition.scheduleSwitch : nil }

    /// The setting of the app that has switched the schedule off, as far as its database can be read; `nil` while backups are made.
    func scheduleSwitchedOffBy() -> String? {
        guard let name = scheduleSwitchName, scheduleSwitch.isOff(in: statusRecords.database) else { return nil }
        return name
    }
}
