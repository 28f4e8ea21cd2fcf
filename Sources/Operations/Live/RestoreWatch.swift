import BackupCore
import Restore
import SystemIO

/// Detects whether a restore has begun or ended since, so that records from before it are not combined with media from after it. Looks at the store's files
/// only and never blocks; the mark of another store's restore is in the database.
struct RestoreWatch: Sendable {
    /// One version of a file.
    private struct Version: Equatable {
        let inode: UInt64
        let changeTime: Timestamp

        init?(_ path: String) {
            guard let status = FileSystem.statusIfPresent(path) else { return nil }
            inode = status.inode
            changeTime = status.changeTime
        }
    }

    private let store: Store
    /// Each restore writes a journal, and a report at its end.
    private let journal: Version?
    private let report: Version?

    init(_ store: Store) {
        self.store = store
        journal = Version(store.paths.restoreJournal)
        report = Version(store.paths.lastRestoreJSON)
    }

    /// Whether no restore has begun or ended since.
    var isCurrent: Bool { journal == Version(store.paths.restoreJournal) && report == Version(store.paths.lastRestoreJSON) }

    /// Whether the records may be new already while the media are still old.
    static func isUnderWay(_ paths: StorePaths) -> Bool { RestoreRecovery.isUnderWay(journalPath: paths.restoreJournal) }

    /// - Throws: `busy` when a restore is running, or has run since.
    func requireNone() throws(BackupError) {
        guard isCurrent, !Self.isUnderWay(store.paths) else {
            throw BackupError(
                .busy, "the app's data is being restored, or was restored just now", path: store.mediaPath ?? store.paths.root,
                remedy: "Try again when the restore has finished.")
        }
        try store.requireNoOtherRestore()
    }
}
