import AppData
import BackupCore
import SystemIO

/// Reports the end of a requested operation through the command `notify` of the store's settings. Operations that were not requested are reported by the
/// status and the log only. Neither a failure of the command nor its duration affects anything else.
public struct OperationNotice: Sendable {
    /// The operations that users request.
    public enum Subject: String, Sendable {
        case backup
        case restore
    }

    static let timeoutSeconds = 10.0

    private let store: Store
    private let subject: Subject
    /// The name of the backup, or of the restored file.
    private let name: String
    private let error: BackupError?

    /// - Parameter error: why it failed; `nil` on success.
    public init(_ subject: Subject, named name: String, of store: Store, error: BackupError? = nil) {
        self.store = store
        self.subject = subject
        self.name = name
        self.error = error
    }

    /// Runs the command, if there is one and it is enabled, and waits a short time for its end.
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

    /// The same on a separate thread, for callers that must not block.
    public func tellBeside() {
        // If no thread can be started there is no notice; the operation's result stands regardless.
        try? SystemThread { [self] in tell() }.detach()
    }

    /// Excludes operations that were refused before they began, and those that the user cancelled.
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
