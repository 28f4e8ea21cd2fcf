import BackupCore
import BackupRepository

/// What a list of backups lacks: those whose records cannot be read. A list that says nothing of them, or that there are none, hides them.
enum UnlistedBackups {
    /// Says how many there are, and why the first cannot be read.
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
                ? "See what is hurt with: backupfs check" : "List it with a later version of backupfs.")
        return true
    }
}
