import BackupCore

/// How an operation ended.
public enum OperationResult: String, CaseIterable, Sendable {
    case ok
    /// It went wrong on the way.
    case failed
    /// What was asked for cannot be; nothing was begun.
    case refused
    case cancelled
    /// There was nothing to do.
    case skipped

    /// - Parameter code: what the operation threw.
    init(_ code: BackupError.Code) {
        switch code {
        case .interrupted: self = .cancelled
        case .busy, .locked, .usage, .invalidArgument, .alreadyExists, .notPermitted, .notSupported, .notEmpty, .readOnly:
            self = .refused
        default: self = .failed
        }
    }
}
