import AppData
import BackupCore
import BackupRepository
import SystemIO

/// The `store.yaml` of a store, for viewing and changing settings. The store need not be opened, or be in order.
public struct SettingsFile: Sendable {
    /// The source of a value.
    public enum Origin: String, Sendable {
        case file = "store.yaml"
        case environment = "environment"
        case definition = "app"
        case standard = "default"
    }

    /// A setting that is in force.
    public struct Value: Sendable {
        public let name: SettingName
        /// The value as `config get` prints it.
        public let text: String
        public let origin: Origin
    }

    private let paths: StorePaths

    /// Path of `store.yaml`.
    public var path: String { paths.settings }

    /// - Throws: `noRepository` when there is no store.
    public init(storeAt path: String) throws(BackupError) {
        paths = StorePaths(root: path)
        try paths.requireTrustedStore()
    }

    /// - Throws: `usage` for an unknown name.
    public static func setting(named word: String) throws(BackupError) -> SettingName {
        guard let name = SettingName(rawValue: word) else {
            let error = SettingsText.unknown(word, path: nil)
            throw BackupError(.usage, error.message, remedy: error.remedy)
        }
        return name
    }

    /// All settings that have a value, in their order.
    /// - Throws: the problem with the file.
    public func values() throws(BackupError) -> [Value] {
        let text = try SettingsText.read(path)
        let settings = try StoreSettings(text)
        let definition = try Store.definition(settings.app, in: paths)
        return SettingName.allCases.compactMap { name in
            if let override = Self.override(name) { return Value(name: name, text: override, origin: .environment) }
            if let entry = text.entries[name] { return Value(name: name, text: entry.value, origin: .file) }
            return standard(name, settings, definition)
        }
    }

    /// An overriding value from an environment variable.
    private static func override(_ name: SettingName) -> String? {
        switch name {
        case .schedule: Environment.schedule
        case .makeDirectoryWait: Environment.makeDirectoryWait
        case .log: Environment.log
        case .logLevel: Environment.logLevel
        case .logFile: Environment.logFile
        default: nil
        }
    }

    private func standard(_ name: SettingName, _ settings: StoreSettings, _ definition: AppDefinition) -> Value? {
        switch name {
        case .channel:
            return definition.fileNames.hasChannels ? Value(name: name, text: name.example, origin: .standard) : nil
        case .schedule: return Value(name: name, text: definition.schedule.text, origin: .definition)
        case .counted: return Value(name: name, text: definition.retention.counted.rawValue, origin: .definition)
        case .notifications: return Value(name: name, text: definition.announcements.rawValue, origin: .definition)
        case .keepLast:
            guard settings.retention.policy.isEmpty, let count = definition.retention.keepLast else { return nil }
            return Value(name: name, text: "\(count)", origin: .definition)
        case .keepWithin:
            guard settings.retention.policy.isEmpty, let days = definition.retention.keepWithinDays else { return nil }
            return Value(name: name, text: "\(days)d", origin: .definition)
        case .language:
            return Value(name: name, text: Language.ofEnvironment().rawValue, origin: .environment)
        case .skipUnchanged, .readAgainHours, .makeDirectoryWait, .retention, .undeleteDays, .prune, .refuseNewerSchema,
            .hookTimeoutSeconds, .notifyAutomatic, .notifyFailures, .notifyOverdueDays, .log,
            .logLevel, .logFile,
            .logSizeBytes,
            .logFiles:
            return Value(name: name, text: name.example, origin: .standard)
        case .formatVersion, .app, .database, .repository, .media, .keepHourly, .keepDaily, .keepWeekly, .keepMonthly,
            .keepYearly,
            .beforeRestore, .afterRestore, .notify, .automaticHook:
            return nil
        }
    }

    /// Changes a setting and keeps the file's comments. Durable when it returns.
    /// - Parameter value: `nil` to unset it.
    /// - Throws: `invalidContent` for an invalid value, and then nothing is changed; `usage` for unsetting a required one.
    public func set(_ name: SettingName, _ value: String?) throws(BackupError) {
        guard name != .formatVersion, value != nil || !name.isRequired else {
            throw BackupError(
                .usage, value == nil ? "\(name.rawValue) cannot be taken away" : "\(name.rawValue) cannot be changed", path: path,
                remedy: "Make another store with: backupfs init")
        }
        var text = try SettingsText.read(path)
        try text.set(name, value)
        let settings = try StoreSettings(text)
        if name == .app { _ = try Store.definition(settings.app, in: paths) }
        if name == .channel { _ = try Store.channel(settings.channel, Store.definition(settings.app, in: paths)) }
        if name == .schedule, let problem = scheduleProblem(settings, text.line(of: name)) { throw problem }
        if name == .repository { try StorePaths.requireOneLine(paths.resolve(settings.repositoryPath)) }
        if name == .logFile, let problem = logProblem(settings) { throw problem }
        try FileSystem.writeFileAtomically(path, Array(text.text.utf8))
    }

    /// Comments out an unknown setting. While it is in the file, every command refuses the file.
    /// - Throws: `usage` when the file does not have it either.
    public func removeUnknown(_ word: String) throws(BackupError) {
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
            return BackupError(
                error.code, "\(SettingName.logFile.rawValue): \(error.message)", path: error.path, remedy: error.remedy)
        }
    }

    /// Why the schedule makes no more backups. A store opens with it anyway: the clock may be wrong.
    private func scheduleProblem(_ settings: StoreSettings, _ line: Int) -> BackupError? {
        do throws(BackupError) {
            try settings.schedule?.requireTime(after: SystemClock.now())
            return nil
        } catch {
            return BackupError(
                .invalidContent, "line \(line): \(SettingName.schedule.rawValue): \(error.message)", path: path,
                remedy: error.remedy)
        }
    }

    /// Updates the settings stored in the repository, as the next backup would. The repository may be missing, or need a password
    /// that was not given.
    /// - Parameter secret: asked for the password or key only if the repository is encrypted.
    public func updateSource(secret: RepositorySecretSource?) throws(BackupError) {
        let settings = try StoreSettings.read(path)
        let identity = try StoreIdentity.read(paths.identity)
        // If another repository is in its place, opening the store detects that.
        guard identity.repositoryPath == settings.repositoryPath else { return }
        let repositoryPath = paths.resolve(settings.repositoryPath)
        try identity.check(Repository.facts(at: repositoryPath), at: repositoryPath)
        let repository = try Repository.open(at: repositoryPath, secret: secret, catalogHome: .folder(paths.catalogs))
        try SourceUpdate(paths: paths, identity: identity, repository: repository).run(
            settings, Store.definition(settings.app, in: paths))
    }

    private static func check<Value: RawRepresentable & CaseIterable>(
        _ variable: String, _ text: String?, _: Value.Type
    ) throws(BackupError) where Value.RawValue == String {
        guard let text else { return }
        do {
            _ = try SettingValue.word(text, Value.self)
        } catch {
            throw BackupError(error.code, "$\(variable): \(error.message)", remedy: error.remedy)
        }
    }

    /// Problems with the settings, or with what they refer to.
    public func problems() -> [BackupError] {
        do throws(BackupError) {
            let settings = try StoreSettings.read(path)
            let definition = try Store.definition(settings.app, in: paths)
            var problems: [BackupError] = []
            if !settings.hasEnd { problems.append(StoreSettings.cutOff(path)) }
            func note(_ name: SettingName, _ problem: Message, _ path: String) {
                problems.append(
                    BackupError(.notFound, "\(name.rawValue): \(problem)", path: path, remedy: "Change it, or make it."))
            }
            let database = paths.resolve(settings.databasePath)
            do throws(BackupError) {
                if try FileSystem.lookBehindLinks(database) == nil { note(.database, "there is no file", database) }
            } catch {
                problems.append(error)
            }
            let repository = paths.resolve(settings.repositoryPath)
            if try !Repository.exists(at: repository) { note(.repository, "there is no repository", repository) }
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
            if let text = Environment.schedule { _ = try Schedule(parsing: text) }
            if let text = Environment.makeDirectoryWait { _ = try MakeDirectoryWait(parsing: text) }
            try Self.check("BACKUPFS_LOG", Environment.log, LogDestination.self)
            try Self.check("BACKUPFS_LOG_LEVEL", Environment.logLevel, LogLevel.self)
            return problems
        } catch {
            return [error]
        }
    }
}
