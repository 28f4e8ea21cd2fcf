import BackupCore

/// `DAMAGED BACKUPS.txt`, where backups that cannot be read may have more than a folder shows.
enum DamageText {
    static let name: FileName = "DAMAGED BACKUPS.txt"

    /// - Parameter failures: not empty.
    static func file(
        _ failures: [(backup: FileName, error: BackupError)], in folder: InodeNumber, context: TreeContext
    ) -> TextFile {
        TextFile(name, in: folder, context: context) { [context] in
            let heading: Message = "Versions can be missing here, since backups are damaged. Run: backupfs check"
            let lines = failures.map { "\(MessageText.name($0.backup.bytes)): \(context.services.text($0.error.message))" }
            return Array((([context.services.text(heading), ""] + lines).joined(separator: "\n") + "\n").utf8)
        }
    }
}
