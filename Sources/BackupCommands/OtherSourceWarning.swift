import BackupCore
import BackupRepository
import Operations

/// Names the owners of other stores' backups that a user has named, before they are removed.
enum OtherSourceWarning {
    static func show(_ snapshots: [Snapshot], _ store: Store) {
        for notice in snapshots.compactMap(store.otherSourceNotice) { Terminal.complain("warning: \(notice)") }
    }
}
