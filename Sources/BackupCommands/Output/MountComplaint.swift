import BackupCore
import BackupRepository
import Operations

/// What a mount says on standard error, which is `mount.log` in the background, of a backup that no command waits for.
enum MountComplaint {
    static let log = FailureLog()

    static func show(_ warnings: [Message], of backup: Snapshot) {
        for warning in warnings {
            let text = Message.joined([.verbatim(backup.name.description), warning], separator: ": ")
            log.note("warning: \(text)")
        }
    }
}
