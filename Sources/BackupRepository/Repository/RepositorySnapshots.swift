import BackupCore
import SystemIO

extension Repository {
    /// Picks up changes of the list of snapshots by other processes. Cheap enough to be called before every use of the list.
    /// - Returns: whether the list has changed.
    @discardableResult
    public func refresh() throws(BackupError) -> Bool {
        // Changes by other machines show at a later look.
        layout.upstream?.refreshInBackground()
        return try snapshotStore.refresh()
    }

    /// Watches for changes of the list of snapshots, and of the stores that continue lines of backups, by this or another process
    /// of this machine; `refresh` then sees them.
    /// - Parameter onChange: called on its own thread, also for changes that leave the list as it was.
    public func watchSnapshots(_ onChange: @escaping @Sendable () -> Void) throws(BackupError) -> FolderWatch {
        // Repositories of older versions may have no folder of sources.
        let sources = try FileSystem.exists(layout.sources) ? [layout.sources] : []
        return try FolderWatch(paths: [layout.snapshots, layout.labels] + sources, onChange: onChange)
    }

    /// The snapshots, oldest first, those with equal times by name; as of the last `refresh` or change.
    public func snapshots(kind: SnapshotKind? = nil) -> [Snapshot] {
        let all = snapshotStore.list.snapshots
        guard let kind else { return all }
        return all.filter { $0.kind == kind }
    }

    /// The complete snapshot of exactly that name, of any kind; `nil` for one that was removed.
    public func snapshot(named name: FileName) -> Snapshot? { snapshotStore.list[name] }

    /// The complete snapshot with that ID; `nil` for one that was removed.
    public func snapshot(id: SnapshotID) -> Snapshot? { snapshotStore.list[id] }

    /// What cannot be read completely: config, snapshot records, labels, packs. Everything else is unharmed.
    public func damages() -> [BackupError] {
        // Opening the repository does not check the packs' lengths.
        try? catalog.reconcile()
        let packs = catalog.damagedPacks.sorted { $0.key < $1.key }
        let config = configurationReading.damage.map { [$0] } ?? []
        return config + snapshotStore.list.damages + packs.map { $0.value.at(layout.shownPackPath(of: $0.key)) }
    }

    /// Why snapshot records cannot be read; the snapshots of these records are not listed.
    public var recordDamages: [BackupError] {
        snapshotStore.list.damages.filter { $0.path?.hasPrefix(layout.snapshots + "/") == true }
    }

    /// Why snapshot records and labels cannot be read.
    public var listDamages: [BackupError] { snapshotStore.list.damages }

    /// Snapshots with missing labels: they count as pinned, and have their first names.
    public func snapshotsWithoutLabel() -> [Snapshot] {
        let list = snapshotStore.list
        return list.missingLabels.compactMap { list[$0] }
    }

    /// Why it is unknown whether labels are missing; `nil` if it is known.
    public var registerError: BackupError? {
        guard snapshotStore.list.registerError != nil else { return nil }
        // The register may have been copied back, or there was no space for it when the first snapshot appeared.
        do throws(BackupError) { try refresh() } catch { return error }
        return snapshotStore.list.registerError
    }

    /// Removes a snapshot from the repository, durably. A prune frees its space later; until then a new backup of the same data
    /// reuses its chunks.
    /// - Throws: `notFound`.
    public func removeSnapshot(_ id: SnapshotID) throws(BackupError) { try snapshotStore.remove(id) }

    /// The same for several snapshots, scanning the folders once.
    /// - Throws: `notFound` when one does not exist; none is removed then.
    public func removeSnapshots(_ ids: [SnapshotID]) throws(BackupError) { try snapshotStore.remove(ids) }

    /// - Throws: `notFound`, `alreadyExists`, `invalidArgument` for a name that is not a path component.
    public func renameSnapshot(_ id: SnapshotID, to name: FileName) throws(BackupError) {
        try snapshotStore.changeLabel(id) { $0.name = name }
    }

    /// - Throws: `notFound`.
    public func setPinned(_ id: SnapshotID, _ isPinned: Bool) throws(BackupError) {
        try snapshotStore.changeLabel(id) { $0.isPinned = isPinned }
    }

    /// Records when the snapshot was last proved to be restorable. A no-op if its label
    /// is missing or unreadable: a label with less information must not replace it.
    /// - Throws: `notFound`.
    public func setVerified(_ id: SnapshotID, at time: Timestamp) throws(BackupError) {
        guard snapshot(id: id) == nil || snapshotStore.hasKnownLabel(id) else { return }
        try snapshotStore.changeLabel(id) { $0.verifiedAt = time }
    }

    /// Changes the tags of a snapshot atomically.
    /// - Throws: `notFound`, `invalidArgument` for an invalid tag or too many of them.
    public func changeTags(_ id: SnapshotID, _ change: (inout Set<String>) -> Void) throws(BackupError) {
        let first = snapshotStore.list[id]?.record.tags ?? []
        try snapshotStore.changeLabel(id) { (label) throws(BackupError) in
            let before = Set(label.tags ?? first)
            var tags = before
            change(&tags)
            for tag in tags.subtracting(before) { try SnapshotTag.check(tag) }
            guard tags.count <= SnapshotTag.countLimit else {
                throw BackupError(
                    .invalidArgument, "a backup has \(SnapshotTag.countLimit) tags at most", remedy: "Remove some tags.")
            }
            label.tags = tags.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
    }
}

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

    /// Whether no snapshot is left once these are removed. False if a snapshot is missing, or if there is no register to exclude
    /// that.
    public func hasOnly(_ ids: [SnapshotID]) -> Bool {
        Set(snapshots().map(\.id)).isSubset(of: ids) && (try? snapshotStore.isComplete()) == true
    }

    /// The snapshots that can be undeleted, in the order in which they were removed.
    public func removedSnapshots() throws(BackupError) -> [RemovedSnapshot] { try snapshotStore.removedSnapshots() }

    /// Why records of removed snapshots cannot be read; these snapshots cannot be undeleted.
    public func removedDamages() throws(BackupError) -> [BackupError] { try snapshotStore.readRemoved().damages.map(\.error) }
}
