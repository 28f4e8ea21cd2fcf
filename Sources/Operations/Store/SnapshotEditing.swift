import BackupCore
import BackupRepository

/// Deleting, renaming and pinning backups: short, but recorded as operations.
extension Store {
    /// A backup by its name; `latest` is the newest one of this store.
    /// - Throws: `notFound`.
    public func snapshot(named name: String) throws(BackupError) -> Snapshot {
        try repository.refresh()
        if name == "latest" {
            guard let newest = ownSnapshots(kind: .snapshot).last else {
                throw BackupError(.notFound, "there are no backups yet", remedy: "Make one with: backupfs backup")
            }
            return newest
        }
        guard let snapshot = repository.snapshots(kind: .snapshot).first(where: { $0.name == FileName(name) }) else {
            throw BackupError(.notFound, "there is no such backup", path: name, remedy: "See: backupfs snapshots")
        }
        return snapshot
    }

    /// Removes a backup. It can be brought back for a time: see `removalGrace`.
    /// - Throws: `notPermitted` for a pinned backup.
    public func removeSnapshot(_ snapshot: Snapshot) throws(BackupError) {
        try recorded(.delete) { (facts) throws(BackupError) in
            facts.snapshot = snapshot.name.description
            let lock = try lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            try withdraw([snapshot.id])
            facts.removedCount = 1
        }
    }

    /// - Throws: `alreadyExists`.
    public func renameSnapshot(_ snapshot: Snapshot, to name: FileName) throws(BackupError) {
        try recorded(.rename) { (facts) throws(BackupError) in
            // The line of the original backup has the old name.
            facts.snapshot = name.description
            let lock = try lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            try repository.renameSnapshot(snapshot.id, to: name)
        }
    }

    public func setPinned(_ snapshot: Snapshot, _ isPinned: Bool) throws(BackupError) {
        try repository.setPinned(snapshot.id, isPinned)
    }
}
