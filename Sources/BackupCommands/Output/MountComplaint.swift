import BackupCore
import BackupRepository
import Operations

/// A mount's messages about backups that no command waits for, on standard error, which is `mount.log` in the background.
enum MountComplaint {
    static let log = FailureLog()

    static func show(_ warnings: [Message], of backup: Snapshot) {
        for warning in warnings {
            let text = Message.joined([.verbatim(backup.name.description), warning], separator: ": ")
            log.note("warning: \(text)")
        }
    }
}
