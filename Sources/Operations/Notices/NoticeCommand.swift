import AppData
import BackupCore
import Glibc
import SystemIO

/// The part of a store that notices need, available even without its repository.
struct NoticePlace: Sendable {
    let paths: StorePaths
    let settings: StoreSettings
    let definition: AppDefinition

    init(_ store: Store) {
        paths = store.paths
        settings = store.settings
        definition = store.definition
    }

    /// The place of a store that is not opened.
    /// - Throws: `notPermitted` when the store's commands must not be run; errors in its settings.
    init(_ paths: StorePaths) throws(BackupError) {
        try paths.requireTrustedStore()
        self.paths = paths
        settings = try StoreSettings.read(paths.settings)
        definition = try Store.definition(settings.app, in: paths)
    }

    var language: Language { settings.language ?? .ofEnvironment() }
}

/// A user's command that receives a notice in its environment. Neither its failure nor its duration affects anything else.
struct NoticeCommand: Sendable {
    /// Without these, programs that show notices do not find the desktop.
    private static let passedOn = [
        "HOME", "USER", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    ]

    let text: String
    let timeoutSeconds: Double
    let place: NoticePlace
    /// The name of the setting, if the command is a hook.
    var hook: String?

    /// Runs it and waits for its end, at most until its timeout.
    func run(_ message: Message, _ variables: [String: String]) {
        var environment = [
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
            "BACKUPFS_STORE": place.paths.root, "BACKUPFS_APP": place.definition.name,
            "BACKUPFS_TITLE": place.definition.title, "BACKUPFS_MESSAGE": place.language.text(message),
        ]
        for name in Self.passedOn { environment[name] = getenv(name).map { String(cString: $0) } }
        environment["BACKUPFS_HOOK"] = hook
        environment.merge(variables) { _, new in new }
        _ = try? ShellCommand(text, timeoutSeconds: timeoutSeconds, folder: place.paths.root).run(environment: environment)
    }
}
