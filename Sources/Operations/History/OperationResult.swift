import BackupCore

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
