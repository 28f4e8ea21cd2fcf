import BackupCore
import BackupRepository
import Operations

/// Backups missing from a list because their records are unreadable. A list that does not mention them, or says that there are
/// none, would hide them.
enum UnlistedBackups {
    /// Prints how many there are, and why the first is unreadable.
    /// - Returns: whether there are any.
    @discardableResult
    static func warn(of repository: Repository) -> Bool {
        let damages = repository.recordDamages
        guard let first = damages.first else { return false }
        let reason = first.message
        Terminal.writeError(
            .plural(
                damages.count, one: "\(damages.count) backup is not listed: \(reason).",
                other: "\(damages.count) backups are not listed; of the first: \(reason)."))
        Terminal.writeError(
            damages.contains { $0.code != .unsupportedVersion }
                ? "See what is damaged with: backupfs check" : "List it with a later version of backupfs.")
        return true
    }
}

/// Warns that another store continues a store's backups, before a command or a mount uses or removes some. A command that refuses
/// has an error with the same text: check for that first.
enum SuccessorWarning {
    static func show(_ store: Store) {
        if let notice = store.successorNotice { Terminal.writeError("warning: \(notice)") }
    }
}

/// Names the owners of other stores' backups that a user has named, before they are removed.
enum OtherSourceWarning {
    static func show(_ snapshots: [Snapshot], _ store: Store) {
        for notice in snapshots.compactMap(store.otherSourceNotice) { Terminal.writeError("warning: \(notice)") }
    }
}
