import AppData
import BackupCore
import SystemIO

/// Tells whoever has asked for something how it has ended, by the command `notify` of the store's settings. What nobody has asked for is told by the
/// status and the log alone. Neither a failure of the command nor its taking long changes anything.
public struct OperationNotice: Sendable {
    /// What somebody asks for.
    public enum Subject: String, Sendable {
        case backup
        case restore
    }

    static let timeoutSeconds = 10.0

    private let store: Store
    private let subject: Subject
    /// The backup's name, or that of the file that was restored.
    private let name: String
    private let error: BackupError?

    /// - Parameter error: why it failed; `nil` when it did not.
    public init(_ subject: Subject, named name: String, of store: Store, error: BackupError? = nil) {
        self.store = store
        self.subject = subject
        self.name = name
        self.error = error
    }

    /// Runs the command, if there is one and it is to be run, and waits for its end, but not long.
    public func tell() {
        let settings = store.settings.notices
        guard let command = settings.command, settings.isOn ?? (store.definition.announcements == .on), isWorthTelling else {
            return
        }
        NoticeCommand(text: command, timeoutSeconds: Self.timeoutSeconds, place: NoticePlace(store)).run(
            message,
            [
                "BACKUPFS_OPERATION": subject.rawValue, "BACKUPFS_NAME": name,
                "BACKUPFS_RESULT": error == nil ? "success" : "failed",
            ])
    }

    /// The same in a thread of its own, for whoever must not wait.
    public func tellBeside() {
        // Without a thread to spare nobody is told: the result is there all the same.
        try? SystemThread { [self] in tell() }.detach()
    }

    /// Not what was refused before anything began, and not what he has ended himself.
    private var isWorthTelling: Bool {
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
        }
    }
}
