import BackupCore
import BackupRepository
import Operations

/// Says whose the backups are that a user has named, where another store made them, before they are removed.
enum OtherSourceWarning {
    static func show(_ snapshots: [Snapshot], _ store: Store) {
        for notice in snapshots.compactMap(store.otherSourceNotice) { Terminal.complain("warning: \(notice)") }
    }
}
