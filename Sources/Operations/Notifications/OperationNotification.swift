import AppData
import BackupCore
import Glibc
import SystemIO

/// Reports the end of a requested operation through the command `notify` of the store's settings. Operations that were not
/// requested are reported by the status and the log only. Neither a failure of the command nor its duration affects anything
/// else.
public struct OperationNotification: Sendable {
    /// The operations that users request.
    public enum Subject: String, Sendable {
        case backup
        case restore
        case copy
    }

    static let timeoutSeconds = 10.0

    private let place: NotificationContext
    private let subject: Subject
    /// The name of the backup, or of the restored file; the source of a copy.
    private let name: String
    private let error: BackupError?

    /// - Parameter error: why it failed; `nil` on success.
    public init(_ subject: Subject, named name: String, of store: Store, error: BackupError? = nil) {
        self.init(subject, named: name, at: NotificationContext(store), error: error)
    }

    init(_ subject: Subject, named name: String, at place: NotificationContext, error: BackupError?) {
        self.place = place
        self.subject = subject
        self.name = name
        self.error = error
    }

    /// Runs the command, if there is one and it is enabled, and waits a short time for its end.
    public func send() {
        let settings = place.settings.notices
        guard let command = settings.command, settings.isOn ?? (place.definition.announcements == .on), shouldNotify else {
            return
        }
        NotificationCommand(text: command, timeoutSeconds: Self.timeoutSeconds, place: place).run(
            message,
            [
                "BACKUPFS_OPERATION": subject.rawValue, "BACKUPFS_NAME": name,
                "BACKUPFS_RESULT": error == nil ? "success" : "failed",
            ])
    }

    /// The same on a separate thread, for callers that must not block.
    public func sendInBackground() {
        // If no thread can be started there is no notice; the operation's result stands regardless.
        try? SystemThread { [self] in send() }.detach()
    }

    /// Excludes operations that were refused before they began, and those that the user cancelled.
    private var shouldNotify: Bool {
        switch error?.code {
        case .busy, .locked, .interrupted, .usage, .invalidArgument, .alreadyExists, .notFound: false
        default: true
        }
    }

    private var message: Message {
        switch (subject, error) {
        case (.backup, nil): "The backup \(name) has been made."
        case (.backup, let error?): "The backup failed: \(error.message)"
        case (.restore, nil): "The data has been restored from \(name)."
        case (.restore, let error?): "The restore from \(name) failed: \(error.message)"
        case (.copy, nil): "Everything was copied from \(name)."
        case (.copy, let error?): "Not everything was copied from \(name): \(error.message)"
        }
    }
}

/// The part of a store that notices need, available even without its repository.
struct NotificationContext: Sendable {
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
struct NotificationCommand: Sendable {
    /// Without these, programs that show notices do not find the desktop.
    private static let passedOn = [
        "HOME", "USER", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    ]

    let text: String
    let timeoutSeconds: Double
    let place: NotificationContext
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
