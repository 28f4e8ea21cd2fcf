import BackupCore
import BackupRepository

/// Backups missing from a list because their records are unreadable. A list that does not mention them, or says that there are none, would hide them.
enum UnlistedBackups {
    /// Prints how many there are, and why the first is unreadable.
    /// - Returns: whether there are any.
    @discardableResult
    static func complain(of repository: Repository) -> Bool {
        let damages = repository.recordDamages
        guard let first = damages.first else { return false }
        let reason = first.message
        Terminal.complain(
            .plural(
                damages.count, one: "\(damages.count) backup is not listed: \(reason).",
                other: "\(damages.count) backups are not listed; of the first: \(reason)."))
        Terminal.complain(
            damages.contains { $0.code != .unsupportedVersion }
                ? "See what is damaged with: backupfs check" : "List it with a later version of backupfs.")
        return true
    }
}
