import AppData
import BackupCore
import Formats
import SystemIO

/// `store.yaml`: the store's app, the places of its parts, and its automatic behavior. Paths are absolute or relative to the
/// store's folder.
public struct StoreSettings: Sendable, Equatable {
    /// The store layout that this program writes and reads.
    static let currentFormatVersion = "1"

    var formatVersion = Self.currentFormatVersion
    /// A built-in app's name, or the name of a definition file in the store.
    public var app: String
    /// Path of the app's database; absolute, or relative to the store.
    public var databasePath: String
    /// `nil` when the app has no media folder.
    public var mediaPath: String?
    /// Path of the repository, absolute or relative to the store, or its place on a server: `s3:https://HOST/BUCKET/PREFIX`.
    public var repositoryPath: String
    /// `nil` for the language of the environment.
    public var language: Language?
    /// The channel of new backups, for an app with channels; `nil` for production.
    public var channel: Channel?
    /// `nil` for the app definition's default.
    public var schedule: Schedule?
    /// No backup is made by the schedule before; `nil` if it is not paused.
    public var schedulePausedUntil: Timestamp?
    /// Of a pause of the schedule, in hours.
    public static let longestPauseHours = 720
    /// The same in seconds.
    static let longestPauseSeconds = Int64(longestPauseHours) * 3_600
    /// Whether to skip a due backup when nothing has changed.
    public var skipsUnchanged = true
    /// After how many hours to read media files again that have no change time. Less than a day: each daily backup reads them,
    /// even if it begins a little earlier than the previous one.
    public var readAgainHours = 20
    /// How long `mkdir` in the mount waits for its backup.
    public var makeDirectoryWait = MakeDirectoryWait.seconds(2)
    /// What backups store of the app's export.
    public var export = ExportChoice.always
    /// Which backups are removed.
    public var retention = RetentionSettings()
    /// Whether a restore refuses a file of a later app version, instead of trying it with a warning.
    public var refusesNewerSchema = false
    /// Whether a file that is copied into `restore/` replaces data only when that was confirmed.
    public var confirmsRestores = false
    /// Commands before and after restores.
    public var hooks = HookSettings()
    /// The command that reports results to people.
    public var notices = NotificationSettings()
    /// Level and place of the log.
    public var log = LogSettings()
    /// The reports of `backupfs copy`.
    public var report = ReportPreferences()
    /// Places for copies of the repository, in the order of the file.
    public var remotes: [RemoteSettings] = []
    /// Where starred photos are uploaded to, which has no copy of the repository; `nil` for nowhere.
    public var photosRemote: RemoteSettings?
    /// How the server that keeps the repository is reached; `nil` for the usual way, and for a repository in a folder.
    var primaryOptions: RemoteSettings?
    /// Folders that get the files that are copied into `copy/` of the mount, in the order of the file.
    public var copySets: [CopySetSettings] = []
    /// The name of the remote through which changes are exchanged with other devices; `nil` for no exchange.
    public var deviceSyncRemote: String?
    /// Whether the file has its last line; without it, some settings may be missing, including those of retention.
    public var hasEnd = true

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
        if let version = values[.formatVersion], version != Self.currentFormatVersion {
            throw BackupError(
                .unsupportedVersion,
                "the store has format version \(MessageText.shortened(version)); this program reads \(Self.currentFormatVersion)",
                path: text.path, remedy: "Use a newer backupfs.")
        }
        for setting in Setting.all where setting.isRequired && values[setting] == nil {
            throw BackupError(.invalidContent, "the setting \(setting.name) is missing", path: text.path)
        }
        self.init(app: "", databasePath: "", mediaPath: nil, repositoryPath: "")
        hasEnd = text.hasEnd
        var problems: [BackupError] = []
        for (setting, value) in values.sorted(by: { text.line(of: $0.key) < text.line(of: $1.key) }) {
            do {
                try setting.take(&self, value)
            } catch {
                problems.append(
                    error.with(
                        .invalidContent, "line \(text.line(of: setting)): \(setting.name): \(error.message)", path: text.path))
            }
        }
        problems += takeRemotes(text)
        for entry in text.copySets {
            let (set, found) = CopySetSettings.read(entry, path: text.path)
            problems += found
            if let set { copySets.append(set) }
        }
        guard let first = problems.first else { return }
        throw problems.count == 1 ? first : first.with(findings: problems.map(\.message))
    }

    /// - Returns: all problems with the remotes.
    private mutating func takeRemotes(_ text: SettingsText) -> [BackupError] {
        var problems: [BackupError] = []
        for entry in text.remotes {
            let (remote, found) = entry.settings(path: text.path)
            problems += found
            guard let remote else { continue }
            if remote.kind == .primary {
                if let problem = primaryProblem(remote) {
                    problems.append(problem.with(.invalidContent, "line \(entry.line): \(problem.message)", path: text.path))
                }
                primaryOptions = remote
                continue
            }
            if remote.kind == .photos {
                if let problem = photosProblem(remote) {
                    problems.append(problem.with(.invalidContent, "line \(entry.line): \(problem.message)", path: text.path))
                }
                photosRemote = remote
                continue
            }
            if let other = remotes.first(where: { $0.isAtSamePlace(as: remote) }) {
                problems.append(
                    BackupError(
                        .invalidContent, "line \(entry.line): remotes.\(remote.name): it has the url of the remote \(other.name)",
                        path: text.path, remedy: "Remove one of them, or give it another place."))
            }
            remotes.append(remote)
        }
        if let photosRemote,
            let copy = (remotes + [primary].compactMap(\.self)).first(where: { $0.isAtSamePlace(as: photosRemote) })
        {
            problems.append(
                BackupError(
                    .invalidContent, "remotes.\(photosRemote.name): it has the url of the remote \(copy.name)", path: text.path,
                    remedy: "Remove one of them, or give it another place."))
        }
        if let primary, let copy = remotes.first(where: { $0.name == primary.name || $0.isAtSamePlace(as: primary) }) {
            problems.append(
                BackupError(
                    .invalidContent,
                    "remotes.\(copy.name): this is the name or the place of the repository itself, which cannot be its copy, too",
                    path: text.path, remedy: "Give the copy another name and place."))
        }
        return problems
    }

    /// Why an entry cannot be that of the photos.
    private func photosProblem(_ remote: RemoteSettings) -> BackupError? {
        if let photosRemote {
            return BackupError(
                .usage, "remotes.\(remote.name).kind: the remote \(photosRemote.name) has the photos, and there can be only one",
                remedy: "Remove one of them.")
        }
        guard remote.retention.isEmpty, remote.quotaBytes == nil else {
            return BackupError(
                .usage, "remotes.\(remote.name): a remote for photos keeps them all, without rules and without a quota",
                remedy: "Remove keep-… and quota there.")
        }
        return nil
    }

    /// Why an entry cannot be that of the server with the repository.
    private func primaryProblem(_ remote: RemoteSettings) -> BackupError? {
        if let primaryOptions {
            return BackupError(
                .usage, "remotes.\(remote.name).kind: the remote \(primaryOptions.name) is the primary one",
                remedy: "Make one of them a copy.")
        }
        guard remote.retention.isEmpty else {
            return BackupError(
                .usage,
                "remotes.\(remote.name): the primary remote keeps the repository itself, which has the rules of the store",
                remedy: "Remove keep-… here, and write it among the store's own settings.")
        }
        guard var own = try? RemoteSettings(name: Self.primaryName, url: repositoryPath) else { return nil }
        (own.addressingStyle, own.permitsPlainHTTP) = (remote.addressingStyle, remote.permitsPlainHTTP)
        guard !own.isOnServer || !own.isAtSamePlace(as: remote) else { return nil }
        return BackupError(
            .usage, "remotes.\(remote.name).kind: the primary remote is the one that the setting repository names",
            remedy: "Make it a copy, or give it the url of the repository.")
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
        var values: [Setting: String] = [
            .formatVersion: formatVersion, .app: app, .database: databasePath, .repository: repositoryPath,
        ]
        values[.media] = mediaPath
        if confirmsRestores { values[.confirmRestores] = "yes" }
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
    public var undeleteDays = 7
    /// `nil` for the app definition's default.
    public var counted: RetentionScope?
    /// Which backups to keep; empty for the app definition's default.
    public var policy = RetentionPolicy()

    static let undeleteDaysRange = 0...3_650

    public init() {}
}

/// What a backup stores of the app's export: the setting `export`. Safety backups always store it.
public enum ExportChoice: String, CaseIterable, Sendable {
    /// Nothing: database and media alone.
    case off
    /// Nothing, but the mount shows it, rendered from the backup's database when a program first looks at it.
    case live
    /// The export, the collections and what has changed in them.
    case always
}

/// The user's commands that run around a restore, to stop and start a service, and for notices of automatic backups. From
/// `store.yaml`.
public struct HookSettings: Sendable, Equatable {
    /// Runs before anything is changed; if it fails, nothing is.
    public var beforeRestore: String?
    /// Runs after a restore, whatever its outcome.
    public var afterRestore: String?
    /// Runs when automatic backups fail or work again; with some values of `notify-automatic`, after each one.
    public var automatic: String?
    /// The timeout for each command.
    public var timeoutSeconds = 60

    public init() {}

    /// Whether none runs around a restore.
    var isEmpty: Bool { beforeRestore == nil && afterRestore == nil }
}

/// The user's command that reports the end of requested operations, and failures of automatic backups. From `store.yaml`.
public struct NotificationSettings: Sendable, Equatable {
    /// Run by /bin/sh; `nil` for none.
    public var command: String?
    /// Whether to run it; `nil` for the app definition's default.
    public var isOn: Bool?
    /// Which automatic backups are reported, by this command and by `automatic-hook`.
    public var automatic = AutomaticNotifications.failures
    /// The number of consecutive failures of automatic backups before a notice.
    public var failureLimit = 3
    /// The number of days that a backup must have been due, without success, before a notice.
    public var overdueDays = 3

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
