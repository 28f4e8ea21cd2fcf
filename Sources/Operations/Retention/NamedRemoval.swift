import BackupCore
import BackupRepository
import SystemIO

/// Removal of backups by name, or of all.
extension ForgetOperation {
    /// All backups of this store except pinned ones and safety backups.
    /// - Parameter isFinal: whether to also give up backups that were removed before.
    /// - Throws: `notPermitted` when the source may belong to another store.
    public func planAll(isFinal: Bool = false) throws(BackupError) -> Plan {
        try store.requireClaimedSource()
        try store.repository.refresh()
        var plan = Plan(
            items: store.ownSnapshots(kind: .snapshot).map {
                Plan.Item(snapshot: $0, reasons: $0.isPinned ? ["pinned"] : [])
            })
        if isFinal { plan.givenUp = try store.ownRemovedSnapshots().map(\.snapshot) }
        return plan
    }

    /// Only the named ones; a safety backup is named as in `safety/`.
    /// - Parameters:
    ///   - isFinal: whether they can no longer be brought back; names may then include this store's previously removed backups.
    ///   - allowsOtherSources: whether other stores' backups may be deleted for good. Any store's backup may be removed if it can
    ///     be brought back.
    /// - Throws: `notFound`; `notPermitted` for pinned ones and other stores' backups, and for an ambiguous name.
    public func plan(
        names: [String], isFinal: Bool = false, allowsOtherSources: Bool = false
    ) throws(BackupError) -> Plan {
        if isFinal, !allowsOtherSources { try requireClaimedSource() }
        var items: [Plan.Item] = []
        var givenUp: [Snapshot] = []
        for name in names {
            if isFinal, let removed = try findRemoved(name, allowsOtherSources) {
                if !givenUp.contains(removed) { givenUp.append(removed) }
                continue
            }
            let snapshot = try find(name)
            if isFinal, !allowsOtherSources {
                try store.requireOwn(
                    snapshot, named: name,
                    remedy: "If you want it to be gone for good, delete it with: backupfs delete --now --other-source")
            }
            guard !snapshot.isPinned else {
                throw BackupError(
                    .notPermitted, "the backup is pinned; nothing was removed", path: name,
                    remedy: "Let it go first with: backupfs unpin \(name)")
            }
            if !items.contains(where: { $0.snapshot.id == snapshot.id }) {
                items.append(Plan.Item(snapshot: snapshot, reasons: []))
            }
        }
        var plan = Plan(items: items)
        plan.givenUp = givenUp
        return plan
    }

    /// Another store may still rely on the backups in this store's line.
    private func requireClaimedSource() throws(BackupError) {
        do {
            try store.requireClaimedSource()
        } catch let error where error.code == .notPermitted {
            throw BackupError(
                .notPermitted, error.message,
                remedy:
                    "Leave out --now: then the backups that you name can be brought back. To delete them for good all the same, add --other-source.",
                cause: .error(error))
        }
    }

    /// A removed backup of this store, which takes precedence over another store's backup that has the name now.
    /// - Returns: `nil` when this store has an existing backup of that name, or has removed none.
    /// - Throws: `notPermitted` when the name is ambiguous.
    private func findRemoved(_ name: String, _ allowsOtherSources: Bool) throws(BackupError) -> Snapshot? {
        var living: Snapshot?
        do throws(BackupError) {
            living = try find(name)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        if let living, store.owns(living) { return nil }
        guard let removed = try store.removedSnapshot(named: name, among: store.ownRemovedSnapshots())?.snapshot else {
            return nil
        }
        guard living == nil || !allowsOtherSources else {
            throw BackupError(
                .notPermitted,
                "a removed backup of this store and a backup of another store both have this name; nothing was removed",
                path: name,
                remedy:
                    "To delete this store's, leave out --other-source. To delete the other store's, first bring this store's back under another name: backupfs undelete \(removed.id.hexadecimal.prefix(8)) --as NAME"
            )
        }
        return removed
    }

    private func find(_ name: String) throws(BackupError) -> Snapshot {
        if name == "latest" { try store.requireNoSuccessor() }
        return try store.snapshot(named: name, orSafetyBackupOf: store.repository.snapshots(kind: .safety))
    }
}

/// The backups of a plan that are removed so far, with their progress reports and log lines.
struct RemovalProgress {
    private(set) var removed: [Snapshot] = []
    private let planned: [SnapshotID: Snapshot]
    private let rule: String
    private let store: Store

    init(_ plan: ForgetOperation.Plan, _ store: Store) {
        planned = Dictionary((plan.removed + plan.givenUp).map { ($0.id, $0) }) { first, _ in first }
        rule = plan.rule
        self.store = store
    }

    func willRemove(_ report: ProgressHandler) throws(BackupError) {
        try Cancellation.check()
        report(.step("Removing backups...", removed.count, of: planned.count))
    }

    mutating func didRemove(_ id: SnapshotID) throws(BackupError) {
        if let snapshot = planned[id] {
            removed.append(snapshot)
            store.log.noteRemoval(of: snapshot, rule: rule)
        }
        try FaultInjection.reached("forget.removed")
    }
}
