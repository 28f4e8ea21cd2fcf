import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Backups that were removed, and for how long they can be brought back.
extension Store {
    /// For this store's own backups it is what its settings say, for those of another source what that one's settings say. Where those are not known it
    /// is the longer of this store's time and the standard one: a store must not cut another one's time short. That one may have taken this store's source
    /// over, and while the settings here may be cut off, those that the repository has count. A damaged record may be of any source: the longest time of all
    /// counts.
    public func removalGrace() throws(BackupError) -> RemovalGrace {
        let own = Self.seconds(settings.retention.undeleteDays)
        let isKnown = settings.hasEnd
        let longer = max(own, RemovalGrace.standardSeconds)
        var others: [SourceID: Int64] = [:]
        for document in try repository.sources() where document.storeID != identity.storeID || !isKnown {
            let settings = (try? SettingsText(document.settings, path: paths.settings)).flatMap { try? StoreSettings($0) }
            others[document.id] = settings.map { Self.seconds($0.retention.undeleteDays) } ?? longer
        }
        let longest = others.values.reduce(longer, max)
        let source = source
        return RemovalGrace(now: SystemClock.now()) { [others] snapshot in
            guard let snapshot else { return longest }
            guard let named = snapshot.source else { return longer }
            return others[named] ?? (named == source ? own : longer)
        }
    }

    private static func seconds(_ days: Int) -> Int64 { Int64(days) * 86_400 }

    /// This store's own backups that can be brought back, in the order in which they were removed. Safety backups are among them.
    public func ownRemovedSnapshots() throws(BackupError) -> [RemovedSnapshot] {
        try repository.removedSnapshots().filter { owns($0.snapshot) }
    }

    /// Removes snapshots so that they can be brought back. For the holder of the operation lock.
    /// - Throws: `notPermitted` for one that is pinned.
    func withdraw(_ ids: [SnapshotID]) throws(BackupError) {
        var removed: Set<SnapshotID> = []
        try repository.withdrawSnapshots(ids, at: SystemClock.now()) { (id) throws(BackupError) in removed.insert(id) }
        if let kept = ids.first(where: { !removed.contains($0) }).flatMap({ repository.snapshot(id: $0) }), ids.count == 1 {
            throw BackupError(
                .notPermitted, "the backup is pinned; nothing was removed", path: kept.name.description,
                remedy: "Let it go first with: backupfs unpin \(kept.name)")
        }
    }
}
