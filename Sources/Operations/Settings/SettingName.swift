import AppData
import BackupCore
import SystemIO

/// The settings in `store.yaml`, in the order of the file.
public enum SettingName: String, CaseIterable, Sendable {
    case formatVersion
    case app
    case database
    case repository
    case media
    case language
    case channel
    case schedule
    case skipUnchanged = "skip-unchanged"
    case readAgainHours = "read-again-hours"
    case makeDirectoryWait = "mkdir-waits"
    case retention
    case counted = "retention-counts"
    case keepLast = "keep-last"
    case keepHourly = "keep-hourly"
    case keepDaily = "keep-daily"
    case keepWeekly = "keep-weekly"
    case keepMonthly = "keep-monthly"
    case keepYearly = "keep-yearly"
    case keepWithin = "keep-within"
    case undeleteDays = "undelete-days"
    case prune
    case refuseNewerSchema = "refuse-newer-schema"
    case beforeRestore = "before-restore"
    case afterRestore = "after-restore"
    case hookTimeoutSeconds = "hook-timeout-seconds"
    case notify
    case notifications
    case notifyAutomatic = "notify-automatic"
    case notifyFailures = "notify-failures"
    case notifyOverdueDays = "notify-overdue-days"
    case automaticHook = "automatic-hook"
    case log
    case logLevel = "log-level"
    case logFile = "log-file"
    case logSizeBytes = "log-size-bytes"
    case logFiles = "log-files"

    /// Whether a store requires it.
    var isRequired: Bool {
        switch self {
        case .formatVersion, .app, .database, .repository: true
        default: false
        }
    }

    /// Whether a running mount uses a changed value immediately, instead of the value from when it was mounted.
    public var appliesAtOnce: Bool {
        switch self {
        case .formatVersion, .app, .database, .repository, .media: false
        default: true
        }
    }

    /// The comment above it in `store.yaml`; empty where the previous setting's comment covers it.
    var comment: [String] {
        switch self {
        case .formatVersion: ["Settings of this backupfs store. Paths are absolute, or relative to this file's folder."]
        case .app: ["The app whose data is backed up: a built-in app, or a definition file beside this one."]
        case .database: ["The app's SQLite database."]
        case .repository: ["Where the backups are kept."]
        case .media: ["The app's media folder."]
        case .language:
            [
                "The language of README.txt, of the reports of restores and of the commands: en, ru, kk, tr or de. Default: the environment's",
                "(LANG).",
            ]
        case .channel:
            [
                "Which version of the app this is, production or development, for apps that have both. The backups of each have names, counts",
                "and retention of their own.",
            ]
        case .schedule:
            [
                "When automatic backups run, in local time: off, daily, weekly, every 24h, Mon..Fri 03:30, *-*-01 12:00 (as in systemd's",
                "OnCalendar). Default: the schedule in the app's definition.",
            ]
        case .skipUnchanged: ["Whether a due backup is skipped when nothing has changed since the newest one."]
        case .readAgainHours:
            [
                "Where the media folder's file system keeps no change times (exFAT, SMB, sshfs), a backup reads every file again this many",
                "hours after the last time; 0: at each backup.",
            ]
        case .makeDirectoryWait:
            [
                "How long mkdir in the mounted snapshots/ waits for its backup before the folder shows as pending: seconds such as 2s, always or never."
            ]
        case .retention:
            ["Whether old backups are removed after each new one. The newest, pinned ones, and safety backups always stay."]
        case .counted:
            [
                "Which backups the rules count and remove: automatic (made by the schedule), unnamed (named by their time), or all. Default:",
                "the choice in the app's definition.",
            ]
        case .keepLast:
            [
                "Which backups to keep: the newest 5, the newest of each of the last 7 days, …, all of the last year. A backup stays if any rule",
                "keeps it. Default: the rules in the app's definition.",
            ]
        case .undeleteDays:
            ["For how many days a removed backup can be brought back with: backupfs undelete. After that, its space is freed."]
        case .prune: ["Whether the space of removed backups is freed, once a week."]
        case .refuseNewerSchema:
            ["Whether a restore refuses a file from a later version of the app, instead of trying it with a warning."]
        case .beforeRestore:
            [
                "Commands before and after a restore, run by /bin/sh: to stop a service, and to start it again. If the first fails, nothing is restored."
            ]
        case .notify:
            [
                "A command, run by /bin/sh when a backup or a restore that a user started has ended; $BACKUPFS_MESSAGE has the text. Whether",
                "it runs: on, off. Default: the choice in the app's definition.",
            ]
        case .notifyAutomatic:
            [
                "Notifications about automatic backups: off; failures (after this many failures in a row, or this many days without a backup; once",
                "a day while that lasts, and once when backups work again); all (also one for each backup). automatic-hook is another command",
                "beside notify: to send a mail, or to call a monitor.",
            ]
        case .log:
            [
                "Where the log goes: file, journal (of systemd), stderr or none. Default: the journal where systemd runs the program as a",
                "service, else the file. A file that reaches its size is rotated, and this many old ones stay.",
            ]
        case .keepHourly, .keepDaily, .keepWeekly, .keepMonthly, .keepYearly, .keepWithin, .afterRestore, .hookTimeoutSeconds,
            .notifications, .notifyFailures, .notifyOverdueDays, .automaticHook, .logLevel, .logFile, .logSizeBytes, .logFiles:
            []
        }
    }

    /// The example in `store.yaml`, behind a `#`, while it is not set.
    var example: String {
        switch self {
        case .formatVersion: StoreSettings.formatVersion
        case .app: "ev-charging-tracker"
        case .database: "app/database.sqlite"
        case .repository: "repository"
        case .media: "app/media"
        case .language: Language.german.rawValue
        case .channel: Channel.production.rawValue
        case .schedule: "daily"
        case .skipUnchanged: "yes"
        case .readAgainHours: "\(StoreSettings.standardReadAgainHours)"
        case .makeDirectoryWait: "2s"
        case .retention: "on"
        case .counted: RetentionScope.unnamed.rawValue
        case .keepLast: "5"
        case .keepHourly: "24"
        case .keepDaily: "7"
        case .keepWeekly: "4"
        case .keepMonthly: "12"
        case .keepYearly: "unlimited"
        case .keepWithin: "1y"
        case .undeleteDays: "\(RetentionSettings.standardUndeleteDays)"
        case .prune: "on"
        case .refuseNewerSchema: "no"
        case .beforeRestore: "systemctl stop my-app"
        case .afterRestore: "systemctl start my-app"
        case .hookTimeoutSeconds: "\(HookSettings.defaultTimeoutSeconds)"
        case .notify: "notify-send \"$BACKUPFS_TITLE\" \"$BACKUPFS_MESSAGE\""
        case .notifications: "on"
        case .notifyAutomatic: AutomaticNotifications.failures.rawValue
        case .notifyFailures: "\(NotificationSettings.standardFailureLimit)"
        case .notifyOverdueDays: "\(NotificationSettings.standardOverdueDays)"
        case .automaticHook: "echo \"$BACKUPFS_MESSAGE\" | mail -s \"$BACKUPFS_TITLE\" me@example.org"
        case .log: LogDestination.file.rawValue
        case .logLevel: LogLevel.info.rawValue
        case .logFile: "backupfs.log"
        case .logSizeBytes: "\(LogSettings.defaultLimitBytes)"
        case .logFiles: "\(LogSettings.defaultOldFileCount)"
        }
    }
}

/// Parses values of settings.
enum SettingValue {
    static func yesOrNo(_ text: String) throws(BackupError) -> Bool {
        switch text.lowercased() {
        case "yes", "true", "on": true
        case "no", "false", "off": false
        default: throw unusable(text, remedy: "Write yes or no.")
        }
    }

    static func onOrOff(_ text: String) throws(BackupError) -> Bool {
        do {
            return try yesOrNo(text)
        } catch {
            throw unusable(text, remedy: "Write on or off.")
        }
    }

    static func number(_ text: String, in range: ClosedRange<Int>, of unit: Message) throws(BackupError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw unusable(text, remedy: "Give a whole number of \(unit) from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    static func word<Value: RawRepresentable & CaseIterable>(
        _ text: String, _: Value.Type
    ) throws(BackupError) -> Value where Value.RawValue == String {
        if let value = Value(rawValue: text) { return value }
        let words = Value.allCases.map(\.rawValue)
        let meant = SpellingSuggestion.nearest(to: text, among: words)
        throw unusable(text, remedy: meant.map { "Did you mean \($0)?" } ?? "Write one of \(words.joined(separator: ", ")).")
    }

    private static func unusable(_ text: String, remedy: Message) -> BackupError {
        BackupError(.usage, "it cannot be “\(MessageText.shortened(text))”", remedy: remedy)
    }
}
