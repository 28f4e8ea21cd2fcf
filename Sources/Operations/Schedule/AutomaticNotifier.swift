import AppData
import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Notifies a user, through commands in the store's settings, when automatic backups fail, when none was made for days, and when
/// they work again: once, and once a day while it lasts, whichever processes make the backups and whatever the clock does.
struct AutomaticNotifier: Sendable {
    /// How long another process may take to record something.
    private static let lockWaitNanoseconds: UInt64 = 2_000_000_000
    /// When this process last reported on a store whose state cannot be written.
    private static let toldWithoutState = Mutex<[String: UInt64]>([:])
    private static let repeatNanoseconds: UInt64 = 86_400 * 1_000_000_000

    private let place: NotificationContext
    /// `nil` where the store is not open.
    private let log: OperationLog?
    /// Whether the commands run on a separate thread, for a caller that must not block.
    private let isBeside: Bool

    init(_ place: NotificationContext, log: OperationLog?, isBeside: Bool) {
        self.place = place
        self.log = log
        self.isBeside = isBeside
    }

    /// Records that a backup was made, or was not needed.
    func note(_ outcome: AutomaticBackup.Outcome) {
        switch outcome {
        case .made(let result):
            // A backup that lacks unreadable files is not a success for its users.
            note(result.incompleteness == nil ? .made : .failed, named: result.snapshot.name.description, result.incompleteness)
        case .unchanged(let name): note(.unchanged, named: name.description, nil)
        case .off, .switchedOff, .paused, .notDue, .quiet: break
        }
    }

    /// Records that a due backup was not made.
    func note(_ error: BackupError) {
        switch error.code {
        // It gave way to an operation of a user, and is retried soon.
        case .interrupted: break
        case .busy, .locked: note(.waiting, named: "", error)
        default: note(.failed, named: "", error)
        }
    }

    private func note(_ event: NotificationState.Event, named name: String, _ error: BackupError?) {
        let (notice, state) = remember(event)
        guard let notice else { return }
        send(notice, state, named: name, error)
    }

    /// - Returns: the notice to send; of several processes, only one gets it.
    private func remember(_ event: NotificationState.Event) -> (AutomaticNotification?, NotificationState) {
        let lock = lock()
        return withExtendedLifetime(lock) {
            let now = SystemClock.now()
            let known = NotificationState.read(place.paths.noticeState)
            var state = known ?? NotificationState(begunAt: now)
            let schedule = place.settings.effectiveSchedule(place.definition)
            let notice = state.note(event, at: now, schedule: schedule, place.settings.notices)
            guard state != known else { return (notice, state) }
            do throws(BackupError) {
                try state.write(to: place.paths.noticeState)
                return (notice, state)
            } catch {
                return (withoutState(event, notice, state), state)
            }
        }
    }

    /// Decides what to report where no state can be saved, on a read-only or broken disk: a failure is reported immediately,
    /// since failures cannot be counted.
    private func withoutState(_ event: NotificationState.Event, _ notice: AutomaticNotification?, _ state: NotificationState)
        -> AutomaticNotification?
    {
        switch event {
        // This is reported once state can be saved again.
        case .made, .unchanged: return notice == .recovered ? nil : notice
        case .waiting where notice == nil: return nil
        case .failed where notice == nil && state.alerted != nil: return nil
        case .failed, .waiting: break
        }
        let now = SystemClock.monotonicNanoseconds()
        return Self.toldWithoutState.withLock { told in
            if let before = told[place.paths.root], now - before < Self.repeatNanoseconds { return nil }
            told[place.paths.root] = now
            return notice ?? .failing
        }
    }

    /// - Returns: `nil` where no lock can be taken: one notice too many is better than none.
    private func lock() -> AdvisoryLock? {
        let end = SystemClock.monotonicNanoseconds() + Self.lockWaitNanoseconds
        while true {
            do throws(BackupError) {
                return try AdvisoryLock(path: place.paths.noticeLock)
            } catch {
                guard error.code == .busy, SystemClock.monotonicNanoseconds() < end else { return nil }
                usleep(10_000)
            }
        }
    }

    // MARK: - Telling

    private func send(_ notice: AutomaticNotification, _ state: NotificationState, named name: String, _ error: BackupError?) {
        if let phase = ScheduleEvent.Phase(notice) { log?.note(ScheduleEvent(phase: phase, error: error?.code)) }
        let wanted = place.settings.notices.automatic
        guard wanted == .all || wanted == .failures && notice.isAboutFailure else { return }
        let commands = commands(for: notice)
        guard !commands.isEmpty else { return }
        let message = message(notice, state, name, error)
        let variables = [
            "BACKUPFS_OPERATION": OperationNotification.Subject.backup.rawValue, "BACKUPFS_AUTOMATIC": "yes",
            "BACKUPFS_EVENT": notice.rawValue, "BACKUPFS_RESULT": error == nil ? "success" : "failed", "BACKUPFS_NAME": name,
            "BACKUPFS_ERROR": error?.code.rawValue ?? "", "BACKUPFS_FAILURES": "\(state.failureCount)",
            "BACKUPFS_SUCCEEDED_AT": state.hasSucceeded ? ISO8601.format(state.base.at) : "",
        ]
        let run: @Sendable () -> Void = { for command in commands { command.run(message, variables) } }
        guard isBeside, let thread = try? SystemThread(run) else { return run() }
        thread.detach()
    }

    private func commands(for notice: AutomaticNotification) -> [NotificationCommand] {
        let settings = place.settings
        var commands: [NotificationCommand] = []
        // An app that announces its backups itself does not know about these failures.
        let isOn = settings.notices.isOn ?? (notice.isAboutFailure || place.definition.announcements == .on)
        if let text = settings.notices.command, isOn {
            commands.append(NotificationCommand(text: text, timeoutSeconds: OperationNotification.timeoutSeconds, place: place))
        }
        if let text = settings.hooks.automatic {
            commands.append(
                NotificationCommand(
                    text: text, timeoutSeconds: Double(settings.hooks.timeoutSeconds), place: place,
                    hook: Setting.automaticHook.name))
        }
        return commands
    }

    private func message(_ notice: AutomaticNotification, _ state: NotificationState, _ name: String, _ error: BackupError?)
        -> Message
    {
        let reason: Message = error?.summary ?? ""
        return switch notice {
        case .made: "The backup \(name) has been made."
        case .unchanged: "Nothing has changed since the backup \(name)."
        case .failing: "Automatic backups fail: \(reason)"
        case .overdue: "No automatic backup has succeeded since \(SystemClock.localTime(state.base.start)): \(reason)"
        case .recovered: "Automatic backups work again. The newest one is \(name)."
        }
    }
}

extension ScheduleEvent.Phase {
    /// - Returns: `nil` for events that the log has from the backup itself.
    init?(_ notice: AutomaticNotification) {
        switch notice {
        case .failing: self = .failing
        case .overdue: self = .overdue
        case .recovered: self = .recovered
        case .made, .unchanged: return nil
        }
    }
}
