import AppData
import BackupCore
import SystemIO

/// `store.yaml`: the store's app, the places of its parts, and its automatic behavior. Paths are absolute or relative to the
/// store's folder.
public struct StoreSettings: Sendable, Equatable {
    /// The store layout that this program writes and reads.
    static let formatVersion = "1"

    /// A built-in app's name, or the name of a definition file in the store.
    public var app: String
    /// Path of the app's database; absolute, or relative to the store.
    public var databasePath: String
    /// `nil` when the app has no media folder.
    public var mediaPath: String?
    /// Path of the repository; absolute, or relative to the store.
    public var repositoryPath: String
    /// `nil` for the language of the environment.
    public var language: Language?
    /// The channel of new backups, for an app with channels; `nil` for production.
    public var channel: Channel?
    /// `nil` for the app definition's default.
    public var schedule: Schedule?
    /// Whether to skip a due backup when nothing has changed.
    public var skipsUnchanged = true
    /// After how many hours to read media files again that have no change time.
    public var readAgainHours = Self.standardReadAgainHours
    /// How long `mkdir` in the mount waits for its backup.
    public var makeDirectoryWait = MakeDirectoryWait.standard
    /// Which backups are removed.
    public var retention = RetentionSettings()
    /// Whether a restore refuses a file of a later app version, instead of trying it with a warning.
    public var refusesNewerSchema = false
    /// Commands before and after restores.
    public var hooks = HookSettings()
    /// The command that reports results to people.
    public var notices = NotificationSettings()
    /// Level and place of the log.
    public var log = LogSettings()
    /// Whether the file has its last line; without it, some settings may be missing, including those of retention.
    public var hasEnd = true

    /// Less than a day: each daily backup reads them, even if it begins a little earlier than the previous one.
    static let standardReadAgainHours = 20
    static let readAgainHoursRange = 0...8_784

    public init(app: String, databasePath: String, mediaPath: String?, repositoryPath: String) {
        self.app = app
        self.databasePath = databasePath
        self.mediaPath = mediaPath
        self.repositoryPath = repositoryPath
    }

    /// - Throws: `invalidContent` naming the key; `unsupportedVersion`.
    static func read(_ path: String) throws(BackupError) -> StoreSettings { try StoreSettings(.read(path)) }

    /// - Throws: `invalidContent`, with all problems as findings; `unsupportedVersion`.
    init(_ text: SettingsText) throws(BackupError) {
        let values = text.entries.mapValues(\.value)
        if let version = values[.formatVersion], version != Self.formatVersion {
            throw BackupError(
                .unsupportedVersion,
                "the store has format version \(MessageText.shortened(version)); this program reads \(Self.formatVersion)",
                path: text.path, remedy: "Use a newer backupfs.")
        }
        for name in SettingName.allCases where name.isRequired && values[name] == nil {
            throw BackupError(.invalidContent, "the setting \(name.rawValue) is missing", path: text.path)
        }
        self.init(
            app: values[.app] ?? "", databasePath: values[.database] ?? "", mediaPath: values[.media],
            repositoryPath: values[.repository] ?? "")
        hasEnd = text.hasEnd
        var problems: [BackupError] = []
        for (name, value) in values.sorted(by: { text.line(of: $0.key) < text.line(of: $1.key) }) {
            do {
                try take(name, value)
            } catch {
                problems.append(
                    BackupError(
                        .invalidContent, "line \(text.line(of: name)): \(name.rawValue): \(error.message)", path: text.path,
                        remedy: error.remedy))
            }
        }
        guard let first = problems.first else { return }
        throw BackupError(
            .invalidContent, first.message, path: text.path, remedy: first.remedy,
            findings: problems.count == 1 ? [] : problems.map(\.message))
    }

    private mutating func take(_ name: SettingName, _ value: String) throws(BackupError) {
        switch name {
        case .formatVersion, .app, .database, .repository, .media: return
        case .language: language = try SettingValue.word(value, Language.self)
        case .channel: channel = try SettingValue.word(value, Channel.self)
        case .schedule: schedule = try Schedule(parsing: value)
        case .skipUnchanged: skipsUnchanged = try SettingValue.yesOrNo(value)
        case .readAgainHours: readAgainHours = try SettingValue.number(value, in: Self.readAgainHoursRange, of: "hours")
        case .makeDirectoryWait: makeDirectoryWait = try MakeDirectoryWait(parsing: value)
        case .refuseNewerSchema: refusesNewerSchema = try SettingValue.yesOrNo(value)
        case .beforeRestore: hooks.beforeRestore = value
        case .afterRestore: hooks.afterRestore = value
        case .hookTimeoutSeconds:
            hooks.timeoutSeconds = try SettingValue.number(value, in: 1...HookSettings.timeoutLimitSeconds, of: "seconds")
        case .notify: notices.command = value
        case .notifications: notices.isOn = try SettingValue.onOrOff(value)
        case .notifyAutomatic: notices.automatic = try SettingValue.word(value, AutomaticNotifications.self)
        case .notifyFailures:
            notices.failureLimit = try SettingValue.number(value, in: NotificationSettings.failureLimitRange, of: "failures")
        case .notifyOverdueDays:
            notices.overdueDays = try SettingValue.number(value, in: NotificationSettings.overdueDaysRange, of: "days")
        case .automaticHook: hooks.automatic = value
        case .retention: retention.isOn = try SettingValue.onOrOff(value)
        case .undeleteDays:
            retention.undeleteDays = try SettingValue.number(value, in: RetentionSettings.undeleteDaysRange, of: "days")
        case .prune: retention.prunes = try SettingValue.onOrOff(value)
        case .counted: retention.counted = try SettingValue.word(value, RetentionScope.self)
        case .keepLast: retention.policy.last = try RetentionPolicy.Limit(parsing: value)
        case .keepHourly: retention.policy.hourly = try RetentionPolicy.Limit(parsing: value)
        case .keepDaily: retention.policy.daily = try RetentionPolicy.Limit(parsing: value)
        case .keepWeekly: retention.policy.weekly = try RetentionPolicy.Limit(parsing: value)
        case .keepMonthly: retention.policy.monthly = try RetentionPolicy.Limit(parsing: value)
        case .keepYearly: retention.policy.yearly = try RetentionPolicy.Limit(parsing: value)
        case .log: log.destination = try SettingValue.word(value, LogDestination.self)
        case .logLevel: log.level = try SettingValue.word(value, LogLevel.self)
        case .logFile: log.path = value
        case .logSizeBytes: log.limitBytes = try SettingValue.number(value, in: LogSettings.limitBytesRange, of: "bytes")
        case .logFiles: log.oldFileCount = try SettingValue.number(value, in: LogSettings.oldFileCountRange, of: "files")
        case .keepWithin: retention.policy.within = try RetentionPeriod(parsing: value)
        }
    }

    /// The error for a file without its last line. The program does not add that line itself: only a person can see what is
    /// missing.
    static func cutOff(_ path: String) -> BackupError {
        BackupError(
            .invalidContent,
            "the settings have no line \"\(SettingsText.endLine)\", so they may be cut off, and no rule removes a backup",
            path: path, remedy: "Look whether any are missing. If not, add that line at the end.")
    }

    /// The text of a new `store.yaml`, with comments for its readers.
    var yaml: String {
        var values: [SettingName: String] = [
            .formatVersion: Self.formatVersion, .app: app, .database: databasePath, .repository: repositoryPath,
        ]
        values[.media] = mediaPath
        return SettingsText.text(values)
    }
}

/// The handling of old backups after a new one. From `store.yaml`.
public struct RetentionSettings: Sendable, Equatable {
    /// Whether to remove any.
    public var isOn = true
    /// Whether to free the space of removed backups at intervals.
    public var prunes = true
    /// The number of days during which a removed backup can be brought back.
    public var undeleteDays = Self.standardUndeleteDays
    /// `nil` for the app definition's default.
    public var counted: RetentionScope?
    /// Which backups to keep; empty for the app definition's default.
    public var policy = RetentionPolicy()

    static let standardUndeleteDays = 7
    static let undeleteDaysRange = 0...3_650

    public init() {}
}

/// The user's commands that run around a restore, to stop and start a service, and for notices of automatic backups. From
/// `store.yaml`.
public struct HookSettings: Sendable, Equatable {
    static let defaultTimeoutSeconds = 60
    static let timeoutLimitSeconds = 86_400

    /// Runs before anything is changed; if it fails, nothing is.
    public var beforeRestore: String?
    /// Runs after a restore, whatever its outcome.
    public var afterRestore: String?
    /// Runs when automatic backups fail or work again; with some values of `notify-automatic`, after each one.
    public var automatic: String?
    /// The timeout for each command.
    public var timeoutSeconds = HookSettings.defaultTimeoutSeconds

    public init() {}

    /// Whether none runs around a restore.
    var isEmpty: Bool { beforeRestore == nil && afterRestore == nil }
}

/// The user's command that reports the end of requested operations, and failures of automatic backups. From `store.yaml`.
public struct NotificationSettings: Sendable, Equatable {
    static let standardFailureLimit = 3
    static let failureLimitRange = 1...1_000
    static let standardOverdueDays = 3
    static let overdueDaysRange = 1...3_650

    /// Run by /bin/sh; `nil` for none.
    public var command: String?
    /// Whether to run it; `nil` for the app definition's default.
    public var isOn: Bool?
    /// Which automatic backups are reported, by this command and by `automatic-hook`.
    public var automatic = AutomaticNotifications.failures
    /// The number of consecutive failures of automatic backups before a notice.
    public var failureLimit = Self.standardFailureLimit
    /// The number of days that a backup must have been due, without success, before a notice.
    public var overdueDays = Self.standardOverdueDays

    public init() {}
}

/// The subjects of notices about automatic backups.
enum AutomaticNotification: String, Sendable {
    /// A backup was made.
    case made
    /// A backup was due, but nothing had changed.
    case unchanged
    /// Enough have failed in a row that the user should know.
    case failing
    /// None has succeeded for days since one was due.
    case overdue
    /// A backup succeeded after a notice of failures.
    case recovered

    /// Whether it is sent where only failures are reported.
    var isAboutFailure: Bool {
        switch self {
        case .failing, .overdue, .recovered: true
        case .made, .unchanged: false
        }
    }
}

/// Which notices of automatic backups a user wants: the setting `notify-automatic`.
public enum AutomaticNotifications: String, CaseIterable, Sendable {
    case off
    /// When backups fail, when none was made for days, and when they work again.
    case failures
    /// Also each backup that was made or had nothing to do.
    case all
}
