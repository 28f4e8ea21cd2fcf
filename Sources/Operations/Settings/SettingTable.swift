import AppData
import BackupCore
import Formats
import SystemIO

/// The table of settings. A new one needs an entry here and in `all`, and a part of `StoreSettings`.
extension Setting {
    /// In the order of the file.
    public static let all: [Setting] = [
        formatVersion, app, database, repository, media, language, channel, schedule, schedulePausedUntil, skipUnchanged,
        readAgainHours, makeDirectoryWait, export, retention, counted, keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly,
        keepYearly,
        keepWithin,
        undeleteDays, prune, deviceSync, confirmRestores, refuseNewerSchema, beforeRestore, afterRestore, hookTimeoutSeconds,
        notify,
        notifications,
        notifyAutomatic, notifyFailures, notifyOverdueDays, automaticHook, log, logLevel, logFile, logSizeBytes, logFiles, report,
        reportFormats, reportTitle, reportCompany, reportClient, reportProduction, reportNotes, reportLogo, reportThumbnails,
        reportInDestination,
    ]

    /// What a store without any of them does.
    private static let standard = StoreSettings(app: "", databasePath: "", mediaPath: nil, repositoryPath: "")

    static let formatVersion = Setting(
        "formatVersion", \.formatVersion, text, .nothing(StoreSettings.currentFormatVersion), isRequired: true,
        appliesAtOnce: false, "Settings of this backupfs store. Paths are absolute, or relative to this file's folder.")
    static let app = Setting(
        "app", \.app, text, .nothing("ev-charging-tracker"), isRequired: true, appliesAtOnce: false,
        "The app whose data is backed up: a built-in app, or a definition file beside this one.")
    static let database = Setting(
        "database", \.databasePath, text, .nothing("app/database.sqlite"), isRequired: true, appliesAtOnce: false,
        "The app's SQLite database.")
    static let repository = Setting(
        "repository", \.repositoryPath, text, .nothing("repository"), isRequired: true, appliesAtOnce: false,
        "Where the backups are kept.")
    static let media = Setting(
        "media", \.mediaPath, text, .nothing("app/media"), appliesAtOnce: false, "The app's media folder.")

    static let language = Setting(
        "language", \.language, word(Language.self),
        Fallback(example: Language.german.rawValue, origin: .environment) { _, _ in Language.ofEnvironment().rawValue },
        """
        The language of README.txt, of the reports of restores and of the commands: en, ru, kk, tr or de. Default: the environment's
        (LANG).
        """)
    static let channel = Setting(
        "channel", \.channel, word(Channel.self),
        Fallback(example: Channel.production.rawValue, origin: .standard) { _, definition in
            definition.fileNames.hasChannels ? Channel.production.rawValue : nil
        },
        """
        Which version of the app this is, production or development, for apps that have both. The backups of each have names, counts
        and retention of their own.
        """)

    static let schedule = Setting(
        "schedule", \.schedule, Schedule.init(parsing:),
        Fallback(example: "daily", origin: .definition) { _, definition in definition.schedule.text },
        variable: "BACKUPFS_SCHEDULE",
        """
        When automatic backups run, in local time: off, daily, weekly, every 24h, Mon..Fri 03:30, *-*-01 12:00 (as in systemd's
        OnCalendar). Default: the schedule in the app's definition.
        """)
    static let skipUnchanged = Setting(
        "skip-unchanged", \.skipsUnchanged, yesOrNo, .standard("yes"),
        "Whether a due backup is skipped when nothing has changed since the newest one.")
    static let readAgainHours = Setting(
        "read-again-hours", \.readAgainHours, number(0...8_784, of: "hours"), .standard("\(standard.readAgainHours)"),
        """
        Where the media folder's file system keeps no change times (exFAT, SMB, sshfs), a backup reads every file again this many
        hours after the last time; 0: at each backup.
        """)
    static let makeDirectoryWait = Setting(
        "mkdir-waits", \.makeDirectoryWait, MakeDirectoryWait.init(parsing:), .standard("2s"), variable: "BACKUPFS_MKDIR_WAITS",
        "How long mkdir in the mounted snapshots/ waits for its backup before the folder shows as pending: seconds such as 2s, always or never."
    )

    static let export = Setting(
        "export", \.export, word(ExportChoice.self), .standard(standard.export.rawValue),
        """
        What a backup has of the app's export (export.json, data/, changes.json): always stores it; off stores database and media
        alone; live does the same, and the mount shows export.json and data/, rendered from the database when they are read.
        """)

    static let retention = Setting(
        "retention", \.retention.isOn, onOrOff, .standard("on"),
        "Whether old backups are removed after each new one. The newest, pinned ones, and safety backups always stay.")
    static let counted = Setting(
        "retention-counts", \.retention.counted, word(RetentionScope.self),
        Fallback(example: RetentionScope.unnamed.rawValue, origin: .definition) { _, definition in
            definition.retention.counted.rawValue
        },
        """
        Which backups the rules count and remove: automatic (made by the schedule), unnamed (named by their time), or all. Default:
        the choice in the app's definition.
        """)
    static let keepLast = Setting(
        "keep-last", \.retention.policy.last, RetentionPolicy.Limit.init(parsing:),
        Fallback(example: "5", origin: .definition) { settings, definition in
            settings.retention.policy.isEmpty ? definition.retention.keepLast.map { "\($0)" } : nil
        },
        """
        Which backups to keep: the newest 5, the newest of each of the last 7 days, …, all of the last year. A backup stays if any rule
        keeps it. Default: the rules in the app's definition.
        """)
    static let keepHourly = Setting(
        "keep-hourly", \.retention.policy.hourly, RetentionPolicy.Limit.init(parsing:), .nothing("24"))
    static let keepDaily = Setting("keep-daily", \.retention.policy.daily, RetentionPolicy.Limit.init(parsing:), .nothing("7"))
    static let keepWeekly = Setting("keep-weekly", \.retention.policy.weekly, RetentionPolicy.Limit.init(parsing:), .nothing("4"))
    static let keepMonthly = Setting(
        "keep-monthly", \.retention.policy.monthly, RetentionPolicy.Limit.init(parsing:), .nothing("12"))
    static let keepYearly = Setting(
        "keep-yearly", \.retention.policy.yearly, RetentionPolicy.Limit.init(parsing:), .nothing("unlimited"))
    static let keepWithin = Setting(
        "keep-within", \.retention.policy.within, { (text) throws(BackupError) in try RetentionPeriod(parsing: text) },
        Fallback(example: "1y", origin: .definition) { settings, definition in
            settings.retention.policy.isEmpty ? definition.retention.keepWithinDays.map { "\($0)d" } : nil
        })
    /// A pause always ends by itself: one that was forgotten must not end all backups.
    public static let schedulePausedUntil = Setting(
        "schedule-paused-until", \.schedulePausedUntil, moment, .nothing("2026-12-24T18:00:00Z"),
        "Until when the schedule makes no backups. Those that were due are then made up for. Default: it is not paused.")
    /// How long a removed backup can be brought back, in days.
    public static let undeleteDays = Setting(
        "undelete-days", \.retention.undeleteDays, number(RetentionSettings.undeleteDaysRange, of: "days"),
        .standard("\(standard.retention.undeleteDays)"),
        "For how many days a removed backup can be brought back with: backupfs undelete. After that, its space is freed.")
    static let prune = Setting(
        "prune", \.retention.prunes, onOrOff, .standard("on"),
        "Whether the space of removed backups is freed, once a week.")

    static let deviceSync = Setting(
        "device-sync", \.deviceSyncRemote, text, .nothing("shared"),
        "The remote through which this device exchanges changes of the app's records with other devices. Default: no exchange.")

    static let confirmRestores = Setting(
        "confirm-restores", \.confirmsRestores, yesOrNo, .standard("no"),
        """
        Whether a file that is copied into the mounted restore/ replaces all data only when there is a file CONFIRM in that folder,
        which the restore removes.
        """)
    static let refuseNewerSchema = Setting(
        "refuse-newer-schema", \.refusesNewerSchema, yesOrNo, .standard("no"),
        "Whether a restore refuses a file from a later version of the app, instead of trying it with a warning.")
    static let beforeRestore = Setting(
        "before-restore", \.hooks.beforeRestore, text, .nothing("systemctl stop my-app"),
        "Commands before and after a restore, run by /bin/sh: to stop a service, and to start it again. If the first fails, nothing is restored."
    )
    static let afterRestore = Setting(
        "after-restore", \.hooks.afterRestore, text, .nothing("systemctl start my-app"))
    static let hookTimeoutSeconds = Setting(
        "hook-timeout-seconds", \.hooks.timeoutSeconds, number(1...86_400, of: "seconds"),
        .standard("\(standard.hooks.timeoutSeconds)"))

    static let notify = Setting(
        "notify", \.notices.command, text, .nothing("notify-send \"$BACKUPFS_TITLE\" \"$BACKUPFS_MESSAGE\""),
        """
        A command, run by /bin/sh when a backup or a restore that a user started has ended; $BACKUPFS_MESSAGE has the text. Whether
        it runs: on, off. Default: the choice in the app's definition.
        """)
    static let notifications = Setting(
        "notifications", \.notices.isOn, onOrOff,
        Fallback(example: "on", origin: .definition) { _, definition in definition.announcements.rawValue })
    static let notifyAutomatic = Setting(
        "notify-automatic", \.notices.automatic, word(AutomaticNotifications.self),
        .standard(standard.notices.automatic.rawValue),
        """
        Notifications about automatic backups: off; failures (after this many failures in a row, or this many days without a backup; once
        a day while that lasts, and once when backups work again); all (also one for each backup). automatic-hook is another command
        beside notify: to send a mail, or to call a monitor.
        """)
    static let notifyFailures = Setting(
        "notify-failures", \.notices.failureLimit, number(1...1_000, of: "failures"),
        .standard("\(standard.notices.failureLimit)"))
    static let notifyOverdueDays = Setting(
        "notify-overdue-days", \.notices.overdueDays, number(1...3_650, of: "days"), .standard("\(standard.notices.overdueDays)"))
    static let automaticHook = Setting(
        "automatic-hook", \.hooks.automatic, text,
        .nothing("echo \"$BACKUPFS_MESSAGE\" | mail -s \"$BACKUPFS_TITLE\" me@example.org"))

    static let log = Setting(
        "log", \.log.destination, word(LogDestination.self), .standard(LogDestination.file.rawValue), variable: "BACKUPFS_LOG",
        """
        Where the log goes: file, journal (of systemd), stderr or none. Default: the journal where systemd runs the program as a
        service, else the file. A file that reaches its size is rotated, and this many old ones stay.
        """)
    static let logLevel = Setting(
        "log-level", \.log.level, word(LogLevel.self), .standard(standard.log.level.rawValue), variable: "BACKUPFS_LOG_LEVEL")
    static let logFile = Setting(
        "log-file", \.log.path, text, .standard("backupfs.log"), variable: "BACKUPFS_LOG_FILE")
    static let logSizeBytes = Setting(
        "log-size-bytes", \.log.limitBytes, number(4_096...(1 << 40), of: "bytes"), .standard("\(standard.log.limitBytes)"))
    static let logFiles = Setting(
        "log-files", \.log.oldFileCount, number(0...100, of: "files"), .standard("\(standard.log.oldFileCount)"))

    static let report = Setting(
        "report", \.report.isEnabled, yesOrNo, .standard("no"),
        """
        Whether each job of backupfs copy makes reports at its end, which (json, csv, html, pdf), and what is on them: texts, a logo (a
        JPEG or PNG), small pictures of photos. With report-in-destination the first complete copy gets them too, in Reports/.
        """)
    static let reportFormats = Setting(
        "report-formats", \.report.formats,
        { (text) throws(BackupError) in
            guard let formats = ReportFormat.list(text) else {
                throw unusable(text, remedy: "Write some of json, csv, html and pdf, with commas between them.")
            }
            return formats
        }, .standard(ReportFormat.allCases.map(\.rawValue).joined(separator: ",")))
    static let reportTitle = Setting("report-title", \.report.title, text, .nothing("Day 12, camera cards"))
    static let reportCompany = Setting("report-company", \.report.company, text, .nothing("Example Films"))
    static let reportClient = Setting("report-client", \.report.client, text, .nothing("Example Television"))
    static let reportProduction = Setting("report-production", \.report.production, text, .nothing("The Long Example"))
    static let reportNotes = Setting("report-notes", \.report.notes, text, .nothing("Second unit"))
    static let reportLogo = Setting("report-logo", \.report.logo, text, .nothing("logo.png"))
    static let reportThumbnails = Setting("report-thumbnails", \.report.hasThumbnails, yesOrNo, .standard("no"))
    static let reportInDestination = Setting(
        "report-in-destination", \.report.isInDestination, yesOrNo, .standard("no"))
}
