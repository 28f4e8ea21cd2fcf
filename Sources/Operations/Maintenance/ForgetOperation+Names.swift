import BackupCore
import BackupRepository

/// Backups that a user names, or all of them.
extension ForgetOperation {
    /// All of this store but pinned ones and safety backups.
    /// - Parameter isFinal: whether those that were removed before are given up as well.
    /// - Throws: `notPermitted` when the source may be another store's.
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

    /// Just the named ones; a safety backup has the name that it has in `safety/`.
    /// - Parameters:
    ///   - isFinal: whether they cannot be brought back; those of this store that were removed before can be named as well then.
    ///   - allowsOtherSources: whether backups of other stores may go for good. What can be brought back may be any store's.
    /// - Throws: `notFound`; `notPermitted` for pinned ones and those of other stores, and when it is not known which of several is meant.
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

    /// Another store may still count on those that are in this store's line.
    private func requireClaimedSource() throws(BackupError) {
        do {
            try store.requireClaimedSource()
        } catch let error where error.code == .notPermitted {
            throw BackupError(
                .notPermitted, error.message,
                remedy:
                    "Leave out --now: then the backups that you name can be brought back. To delete them for good all the same, add --other-source."
            )
        }
    }

    /// A removed backup of this store, which comes before one of another store that has its name now.
    /// - Returns: `nil` when this store has a backup of that name that was not removed, or has removed none.
    /// - Throws: `notPermitted` when it is not known which is meant.
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
