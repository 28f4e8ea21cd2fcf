import BackupCore

/// Removing snapshots, and bringing them back.
extension Repository {
    /// Takes snapshots out of sight. Until a prune after the time of grace gives them up, they can be brought back.
    /// - Parameters:
    ///   - ids: those that are pinned or not there any more are passed over.
    ///   - time: the time of the removal.
    ///   - willRemove: called before each; what it throws ends the removal.
    ///   - didRemove: called when one has durably gone.
    public func withdrawSnapshots(
        _ ids: [SnapshotID], at time: Timestamp, willRemove: (SnapshotID) throws(BackupError) -> Void = { _ in },
        didRemove: (SnapshotID) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) {
        try snapshotStore.withdraw(ids, at: time, willRemove: willRemove, didRemove: didRemove)
    }

    /// Removes snapshots for good: they cannot be brought back.
    /// - Parameters:
    ///   - ids: those that are pinned or not there any more are passed over.
    ///   - willRemove: called before each; what it throws ends the removal.
    ///   - didRemove: called when one has durably gone.
    public func removeSnapshotsForGood(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try snapshotStore.removeForGood(ids, willRemove: willRemove, didRemove: didRemove)
    }

    /// Gives removed snapshots up: they cannot be brought back. The parameters are those of `removeSnapshotsForGood`.
    public func giveUpSnapshots(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try snapshotStore.giveUpRemoved(ids, willRemove: willRemove, didRemove: didRemove)
    }

    /// Whether no snapshot is left when these are removed. A snapshot that is missing, or of which nothing can be known without a register, may be left.
    public func hasOnly(_ ids: [SnapshotID]) -> Bool {
        Set(snapshots().map(\.id)).isSubset(of: ids) && (try? snapshotStore.isComplete()) == true
    }

    /// The snapshots that can be brought back, in the order in which they were removed.
    public func removedSnapshots() throws(BackupError) -> [RemovedSnapshot] { try snapshotStore.removedSnapshots() }

    /// Why records of removed snapshots cannot be read: these cannot be brought back.
    public func removedDamages() throws(BackupError) -> [BackupError] { try snapshotStore.readRemoved().damages.map(\.error) }

    /// Brings a removed snapshot back.
    /// - Parameters:
    ///   - name: what it is called from now on; `nil` for what it was called.
    ///   - isPinned: whether it is pinned when it is back, from the first moment on.
    /// - Throws: `busy` while a prune runs; `notFound`; `alreadyExists` when another snapshot has the name.
    /// - Returns: the snapshot, and what of it is no longer in the repository: an older program, which does not know of removed snapshots, may have
    ///   pruned it.
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
