import BackupCore

/// Why a backup started by `mkdir` failed, or what it lacks. It is shown as a file beside the backups until it is removed, a backup of that name is made, or
/// the store is unmounted.
struct BackupFailure: Sendable {
    let backupName: FileName
    let error: BackupError
    let time: Timestamp

    private static let suffix = ".error.txt"

    var fileName: FileName {
        let suffix = Array(Self.suffix.utf8)
        return FileName(bytes: FileName.fitting(backupName.bytes, reservedBytes: suffix.count) + suffix)
    }

    /// The text for users.
    var text: Message {
        let path = error.path.map { [Message.verbatim($0)] } ?? []
        return .joined(["The backup \(backupName.description): \(error.fullText)"] + path, separator: "\n")
    }
}
