import BackupCore

/// Exit codes, compatible with restic's. The only place that derives them from errors.
enum ExitStatus: Int32 {
    case success = 0
    case failure = 1
    case usage = 2
    /// Partly done: some source could not be read, or the process that served a mount may still run.
    case incomplete = 3
    case noRepository = 10
    /// Another process works with the store.
    case locked = 11
    case wrongPassword = 12
    /// The app holds its database: unlike `locked`, this may never end by itself.
    case databaseInUse = 13
    case interrupted = 130

    init(_ code: BackupError.Code) {
        switch code {
        case .usage: self = .usage
        case .sourceUnreadable: self = .incomplete
        case .noRepository: self = .noRepository
        case .locked, .busy: self = .locked
        case .databaseInUse: self = .databaseInUse
        case .wrongPassword: self = .wrongPassword
        case .interrupted: self = .interrupted
        case .invalidContent, .damagedContent, .unsupportedVersion, .noSpace, .noResources, .tooLarge, .readOnly, .notPermitted,
            .accessDenied, .repositoryDamaged, .inputOutput, .notFound, .alreadyExists, .notADirectory, .isADirectory,
            .notEmpty, .nameTooLong, .noAttribute, .invalidArgument, .notSupported, .crossDevice, .badHandle,
            .stale, .offline, .conflict, .hookFailed:
            self = .failure
        }
    }
}
