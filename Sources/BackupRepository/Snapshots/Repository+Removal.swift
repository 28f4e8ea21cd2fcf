import BackupCore

/// Removing snapshots, and undeleting them.
extension Repository {
    /// Removes snapshots from the list. They can be undeleted until a prune after the grace period gives them up.
    /// - Parameters:
    ///   - ids: pinned and missing snapshots are skipped.
    ///   - time: the time of the removal.
    ///   - willRemove: called before each; an error it throws ends the removal.
    ///   - didRemove: called when one is durably removed.
    public func withdrawSnapshots(
        _ ids: [SnapshotID], at time: Timestamp, willRemove: (SnapshotID) throws(BackupError) -> Void = { _ in },
        didRemove: (SnapshotID) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) {
        try snapshotStore.withdraw(ids, at: time, willRemove: willRemove, didRemove: didRemove)
    }

    /// Removes snapshots permanently: they cannot be undeleted.
    /// - Parameters:
    ///   - ids: pinned and missing snapshots are skipped.
    ///   - willRemove: called before each; an error it throws ends the removal.
    ///   - didRemove: called when one is durably removed.
    public func removeSnapshotsForGood(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try snapshotStore.removeForGood(ids, willRemove: willRemove, didRemove: didRemove)
    }

    /// Gives up removed snapshots: they cannot be undeleted any more. The parameters are those of `removeSnapshotsForGood`.
    public func giveUpSnapshots(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try snapshotStore.giveUpRemoved(ids, willRemove: willRemove, didRemove: didRemove)
    }

    /// Whether no snapshot is left once these are removed. False if a snapshot is missing, or if there is no register to exclude that.
    public func hasOnly(_ ids: [SnapshotID]) -> Bool {
        Set(snapshots().map(\.id)).isSubset(of: ids) && (try? snapshotStore.isComplete()) == true
    }

    /// The snapshots that can be undeleted, in the order in which they were removed.
    public func removedSnapshots() throws(BackupError) -> [RemovedSnapshot] { try snapshotStore.removedSnapshots() }

    /// Why records of removed snapshots cannot be read; these snapshots cannot be undeleted.
    public func removedDamages() throws(BackupError) -> [BackupError] { try snapshotStore.readRemoved().damages.map(\.error) }

    /// Undeletes a removed snapshot.
    /// - Parameters:
    ///   - name: its new name; `nil` to keep the old one.
    ///   - isPinned: whether it is pinned from the first moment on.
    /// - Throws: `busy` while a prune runs; `notFound`; `alreadyExists` when another snapshot has the name.
    /// - Returns: the snapshot, and what the repository has lost of it: an older program, which does not know removed snapshots, may have pruned its data.
    public func bringBackSnapshot(
        _ id: SnapshotID, as name: FileName? = nil, pinned isPinned: Bool = false
    ) throws(BackupError) -> (snapshot: Snapshot, problems: [BackupError]) {
        let lock = try RepositoryLock(layout, .keepingPacks, operation: "undelete")
        defer { withExtendedLifetime(lock) {} }
        try catalog.reconcile()
        try snapshotStore.bringBack(id, as: name, pinned: isPinned)
        guard let snapshot = snapshotStore.list[id] else {
            throw BackupError(.notFound, "there is no such snapshot", path: layout.snapshotPath(of: id))
        }
        var problems: [BackupError] = []
        let walk = TreeWalk(self, try PackInventory(self)) { (problem) throws(BackupError) in
            switch problem {
            case .missing(let chunk, _): problems.append(BackupError(.repositoryDamaged, "chunk \(chunk) is missing"))
            case .structure(let error, let isReported): if !isReported { problems.append(error) }
            }
        }
        _ = try walk.visit(snapshot)
        return (snapshot, problems)
    }
}
