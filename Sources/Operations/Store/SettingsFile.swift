import AppData
import BackupCore
import BackupRepository
import SystemIO

/// The `store.yaml` of a store, for viewing and changing settings. The store need not be opened, or be in order.
public struct SettingsFile: Sendable {
    /// A setting that is in force.
    public struct Value: Sendable {
        public let setting: Setting
        /// As it would be written in `store.yaml`.
        public let text: String
        public let origin: Setting.Origin
    }

    let paths: StorePaths

    /// Path of `store.yaml`.
    public var path: String { paths.settings }

    /// - Throws: `noRepository` when there is no store.
    public init(storeAt path: String) throws(BackupError) {
        paths = StorePaths(root: path)
        try paths.requireTrustedStore()
    }

    /// - Throws: `usage` for an unknown name.
    public static func setting(named word: String) throws(BackupError) -> Setting {
        guard let setting = Setting.named(word) else {
            if word == RemoteText.key { throw remotesAreApart }
            if word == CopySetSettings.key { throw copySetsAreApart }
            let error = SettingsText.unknown(word, path: nil)
            throw BackupError(.usage, error.message, remedy: error.remedy)
        }
        return setting
    }

    private static var remotesAreApart: BackupError {
        BackupError(
            .usage, "remotes have commands of their own",
            remedy: "See: backupfs remote list, backupfs remote add, backupfs remote remove")
    }

    private static var copySetsAreApart: BackupError {
        BackupError(
            .usage, "copy-sets have lines of their own in store.yaml",
            remedy: "Change them with an editor, and look with: backupfs config check")
    }

    /// All settings that have a value, in their order.
    /// - Throws: the problem with the file.
    public func values() throws(BackupError) -> [Value] {
        let text = try SettingsText.read(path)
        let settings = try StoreSettings(text)
        let definition = try Store.definition(settings.app, in: paths)
        return Setting.all.compactMap { setting in
            if let override = setting.override { return Value(setting: setting, text: override, origin: .environment) }
            if let entry = text.entries[setting] { return Value(setting: setting, text: entry.value, origin: .file) }
            let fallback = setting.fallback
            return fallback.value(settings, definition).map { Value(setting: setting, text: $0, origin: fallback.origin) }
        }
    }

    /// Changes a setting and keeps the file's comments. Durable when it returns.
    /// - Parameter value: `nil` to unset it.
    /// - Throws: `invalidContent` for an invalid value, and then nothing is changed; `usage` for unsetting a required one.
    public func set(_ setting: Setting, _ value: String?) throws(BackupError) {
        guard setting != .formatVersion, value != nil || !setting.isRequired else {
            throw BackupError(
                .usage, value == nil ? "\(setting.name) cannot be taken away" : "\(setting.name) cannot be changed", path: path,
                remedy: "Make another store with: backupfs init")
        }
        var text = try SettingsText.read(path)
        try text.set(setting, value)
        let settings = try StoreSettings(text)
        if setting == .app { _ = try Store.definition(settings.app, in: paths) }
        if setting == .channel { _ = try Store.channel(settings.channel, Store.definition(settings.app, in: paths)) }
        if let end = settings.schedulePausedUntil, setting == .schedulePausedUntil,
            end.secondsSince(SystemClock.now()) > StoreSettings.longestPauseSeconds
        {
            throw BackupError(
                .invalidContent,
                "\(setting.name): a pause of the schedule lasts \(StoreSettings.longestPauseHours) hours at most", path: path,
                remedy: "Write an earlier time, or end the schedule with: backupfs config set schedule off")
        }
        if setting == .schedule, let problem = scheduleProblem(settings, text.line(of: setting)) { throw problem }
        if setting == .repository {
            try StorePaths.requireOneLine(paths.resolve(settings.repositoryPath))
            try settings.primary?.check()
        }
        if setting == .logFile, let problem = logProblem(settings) { throw problem }
        try FileSystem.writeFileAtomically(path, Array(text.text.utf8))
    }

    /// Comments out an unknown setting. While it is in the file, every command refuses the file.
    /// - Throws: `usage` when the file does not have it either.
    public func removeUnknown(_ word: String) throws(BackupError) {
        if word == RemoteText.key { throw Self.remotesAreApart }
        if word == CopySetSettings.key { throw Self.copySetsAreApart }
        let text = String(decoding: try FileSystem.readFile(path, limitBytes: 1 << 20), as: UTF8.self)
        do throws(BackupError) {
            try FileSystem.writeFileAtomically(path, Array(SettingsText.commentingOut(word, in: text, path: path).utf8))
        } catch  where error.message == SettingsText.unknown(word, path: path).message {
            throw BackupError(.usage, error.message, remedy: error.remedy)
        }
    }

    /// Why the log is not written to its configured place.
    private func logProblem(_ settings: StoreSettings) -> BackupError? {
        guard let log = settings.log.path else { return nil }
        do throws(BackupError) {
            try OutputPaths(settings, paths).check(paths.resolve(log), isLog: true)
            return nil
        } catch {
            return error.with(nil, "\(Setting.logFile.name): \(error.message)")
        }
    }

    /// Why the schedule makes no more backups. A store opens with it anyway: the clock may be wrong.
    private func scheduleProblem(_ settings: StoreSettings, _ line: Int) -> BackupError? {
        do throws(BackupError) {
            try settings.schedule?.requireTime(after: SystemClock.now())
            return nil
        } catch {
            return error.with(.invalidContent, "line \(line): \(Setting.schedule.name): \(error.message)", path: path)
        }
    }

    private func copySetProblems(_ set: CopySetSettings) -> [BackupError] {
        set.destinations.map(paths.resolve).compactMap { path in
            let name = "\(CopySetSettings.key).\(set.name).destinations"
            do throws(BackupError) {
                guard try FileSystem.lookBehindLinks(path)?.kind != .directory else { return nil }
                return BackupError(
                    .notFound, "\(name): there is no folder", path: path,
                    remedy: "Mount its disk, change the path, or make the folder.")
            } catch {
                return error.with(nil, "\(name): \(error.message)")
            }
        }
    }

    /// Problems with the settings, or with what they refer to.
    public func problems() -> [BackupError] {
        do throws(BackupError) {
            let settings = try StoreSettings.read(path)
            let definition = try Store.definition(settings.app, in: paths)
            var problems: [BackupError] = []
            if !settings.hasEnd { problems.append(StoreSettings.cutOff(path)) }
            func note(_ setting: Setting, _ problem: Message, _ path: String) {
                problems.append(
                    BackupError(.notFound, "\(setting.name): \(problem)", path: path, remedy: "Change it, or make it."))
            }
            let database = paths.resolve(settings.databasePath)
            do throws(BackupError) {
                if try FileSystem.lookBehindLinks(database) == nil { note(.database, "there is no file", database) }
            } catch {
                problems.append(error)
            }
            let repository = settings.repositoryFolder(in: paths)
            if settings.primary == nil, try !Repository.exists(at: repository) {
                note(.repository, "there is no repository", repository)
            }
            if let media = settings.mediaPath.map(paths.resolve) {
                do throws(BackupError) {
                    if try FileSystem.lookBehindLinks(media)?.kind != .directory { note(.media, "there is no folder", media) }
                } catch {
                    problems.append(error)
                }
                if definition.media == nil {
                    problems.append(
                        BackupError(
                            .usage, "media: the app \(definition.name) has no media folder", path: path, remedy: "Remove it."))
                }
            }
            _ = try Store.channel(settings.channel, definition)
            if let problem = try scheduleProblem(settings, SettingsText.read(path).line(of: .schedule)) {
                problems.append(problem)
            }
            if let problem = logProblem(settings) { problems.append(problem) }
            for remote in settings.remotes + [settings.photosRemote].compactMap(\.self) {
                problems += remoteProblems(remote, settings)
            }
            for set in settings.copySets { problems += copySetProblems(set) }
            if let name = settings.deviceSyncRemote {
                do throws(BackupError) {
                    _ = try settings.remote(named: name, path: path)
                } catch {
                    problems.append(error.with(nil, "\(Setting.deviceSync.name): \(error.message)"))
                }
            }
            for setting in Setting.all {
                guard let variable = setting.variable, let text = setting.override else { continue }
                var overridden = settings
                do throws(BackupError) {
                    try setting.take(&overridden, text)
                } catch {
                    guard setting == .log || setting == .logLevel else { throw error }
                    throw error.with(nil, "$\(variable): \(error.message)")
                }
            }
            return problems
        } catch {
            return [error]
        }
    }
}
