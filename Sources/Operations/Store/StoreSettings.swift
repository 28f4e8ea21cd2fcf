import BackupCore
import SystemIO
import Yams

/// `store.yaml`: which app the store is for and where its parts lie. Paths are absolute or relative to the store's folder.
public struct StoreSettings: Sendable, Equatable {
    /// The store layout this program writes and reads.
    static let formatVersion = "1"

    /// A built-in app's name, or the name of a definition file in the store.
    public var app: String
    public var databasePath: String
    /// `nil` when the app has no media folder.
    public var mediaPath: String?
    public var repositoryPath: String
    public var hooks = HookSettings()

    /// - Throws: `invalidContent` naming the line or the key.
    static func read(_ path: String) throws(BackupError) -> StoreSettings {
        let bytes = try FileSystem.readFile(path, limitBytes: 1 << 20)
        let node: Yams.Node?
        do {
            node = try Yams.compose(yaml: String(decoding: bytes, as: UTF8.self), .basic)
        } catch {
            throw BackupError(.invalidContent, "the settings are not valid YAML: \(error)", path: path)
        }
        guard let mapping = node?.mapping else {
            throw BackupError(.invalidContent, "the settings are empty", path: path, remedy: "Make the store anew with init.")
        }
        var values: [String: String] = [:]
        for (key, value) in mapping {
            guard let key = key.string, let value = value.scalar?.string else {
                throw BackupError(.invalidContent, "every setting is a name and a text", path: path)
            }
            values[key] = value
        }
        func take(_ key: String) throws(BackupError) -> String {
            guard let value = values.removeValue(forKey: key) else {
                throw BackupError(.invalidContent, "the setting \(key) is missing", path: path)
            }
            return value
        }
        let version = try take("formatVersion")
        guard version == formatVersion else {
            throw BackupError(
                .unsupportedVersion, "the store has format version \(version); this program reads \(formatVersion)", path: path,
                remedy: "Use a newer backupfs.")
        }
        var settings = StoreSettings(
            app: try take("app"), databasePath: try take("database"), mediaPath: values.removeValue(forKey: "media"),
            repositoryPath: try take("repository"))
        settings.hooks.beforeRestore = values.removeValue(forKey: "before-restore")
        settings.hooks.afterRestore = values.removeValue(forKey: "after-restore")
        if let text = values.removeValue(forKey: "hook-timeout-seconds") {
            guard let seconds = Int(text), (1...HookSettings.timeoutLimitSeconds).contains(seconds) else {
                throw BackupError(
                    .invalidContent, "hook-timeout-seconds is \(text)", path: path,
                    remedy: "Give a whole number of seconds from 1 to \(HookSettings.timeoutLimitSeconds).")
            }
            settings.hooks.timeoutSeconds = seconds
        }
        if let unknown = values.keys.sorted().first {
            throw BackupError(.invalidContent, "the setting \(unknown) is not known", path: path, remedy: "Remove it.")
        }
        return settings
    }

    /// The file's text, with comments for whoever opens it.
    var yaml: String {
        func quoted(_ text: String) -> String {
            var output = "\""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\\", "\"": output += "\\\(scalar)"
                // YAML folds line feeds and takes no other control characters as they are.
                case "\0"..<" ", "\u{7F}"..."\u{9F}": output += "\\x" + Hexadecimal.encode([UInt8(scalar.value)])
                default: output.unicodeScalars.append(scalar)
                }
            }
            return output + "\""
        }
        var text = """
            # Settings of this backupfs store. Paths are absolute, or relative to this file's folder.
            formatVersion: "\(Self.formatVersion)"
            # The app whose data is backed up: a built-in app, or a definition file beside this one.
            app: \(quoted(app))
            # The app's SQLite database.
            database: \(quoted(databasePath))
            # Where the backups are kept.
            repository: \(quoted(repositoryPath))

            """
        if let mediaPath { text += "# The app's media folder.\nmedia: \(quoted(mediaPath))\n" }
        text += """
            # Commands around a restore, run by /bin/sh: to stop a service, and to start it again. When the first fails, nothing is restored.

            """
        func add(_ name: String, _ value: String?, example: String) {
            text += value.map { "\(name): \(quoted($0))\n" } ?? "# \(name): \"\(example)\"\n"
        }
        add("before-restore", hooks.beforeRestore, example: "systemctl stop my-app")
        add("after-restore", hooks.afterRestore, example: "systemctl start my-app")
        let isDefault = hooks.timeoutSeconds == HookSettings.defaultTimeoutSeconds
        add("hook-timeout-seconds", isDefault ? nil : "\(hooks.timeoutSeconds)", example: "\(hooks.timeoutSeconds)")
        return text
    }
}
