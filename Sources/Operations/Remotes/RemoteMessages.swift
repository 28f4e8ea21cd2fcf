import BackupCore

/// The texts for failures of a remote, in the words of the source documents. They name the remote as its users do ("iCloud");
/// the technical reason is what to do next.
public struct RemoteMessages: Sendable {
    /// What users call the remote.
    let label: String
    /// Where it is, without credentials.
    var location: String?

    /// - Parameter label: what users call the remote.
    public init(label: String, location: String? = nil) {
        self.label = label
        self.location = location
    }

    /// The text for a failed upload; an error of another kind stays as it is.
    public func uploading(_ error: BackupError) -> BackupError {
        switch error.code {
        case .accessDenied: shown(error, "You must be signed into \(label) to use automatic backups.")
        case .offline: shown(error, "No internet connection. Backup requires network access.")
        case .noSpace: shown(error, "\(label) storage is full. Please free up space or upgrade your plan.")
        default: error
        }
    }

    /// The text for a failed list or download; an error of another kind stays as it is.
    public func reading(_ error: BackupError) -> BackupError {
        switch error.code {
        case .accessDenied: shown(error, "You must be signed into \(label) to use automatic backups.")
        case .offline: shown(error, "Cannot access \(label). Check your internet connection.")
        case .noRepository: noBackups
        default: error
        }
    }

    /// For a remote that holds no backup.
    public var noBackups: BackupError {
        BackupError(
            .noRepository, "No backups found in \(label).", path: location, remedy: "Upload them with: backupfs sync")
    }

    private func shown(_ error: BackupError, _ message: Message) -> BackupError {
        let end: Message = error.message.english.hasSuffix(".") ? "" : "."
        let reason: Message = "The reason: \(error.message)\(end)"
        let remedy = error.remedy.map { Message.joined([reason, $0], separator: " ") } ?? reason
        return BackupError(error.code, message, path: location, remedy: remedy, findings: error.findings, cause: .error(error))
    }
}
