import BackupCore

/// Operations that a user or the schedule can start.
public enum OperationKind: String, CaseIterable, Sendable {
    case backup
    case restore
    /// Writes a backup into a folder; the app's data is not touched.
    case extract
    case export
    case forget
    case delete
    /// Brings a removed backup back.
    case undelete
    case rename
    case prune
    case check
    case repair
    case verify
    /// Finishes a restore that a crash interrupted.
    case recovery
    /// Uploads the repository to a remote.
    case sync
    /// Copies backups to or from another repository.
    case copySnapshots = "copy-snapshots"
    /// Copies a folder to several places.
    case copy
    /// Exchanges changes with other devices.
    case deviceSync = "device-sync"
    /// Uploads starred photos.
    case photoUpload = "photo-upload"
    case mount
    case unmount

    /// The name under which an automatic backup runs. A user's operation interrupts it, and it is retried soon.
    static let automaticBackupName = "automatic backup"

    /// Whether it is recorded in the history, as operations on data are. Syncs are not: many would push out all others while a
    /// remote is offline, and the state of the remote has the result.
    var isRemembered: Bool { ![.mount, .unmount, .sync, .copy, .deviceSync, .photoUpload].contains(self) }
}

/// How an operation ended.
public enum OperationResult: String, CaseIterable, Sendable {
    case ok
    /// It failed after it began.
    case failed
    /// The request cannot be carried out; nothing was begun.
    case refused
    case cancelled
    /// There was nothing to do.
    case skipped

    /// - Parameter code: the code of the operation's error.
    init(_ code: BackupError.Code) {
        switch code {
        case .interrupted: self = .cancelled
        case .busy, .locked, .usage, .invalidArgument, .alreadyExists, .notPermitted, .notSupported, .notEmpty, .readOnly:
            self = .refused
        default: self = .failed
        }
    }
}
