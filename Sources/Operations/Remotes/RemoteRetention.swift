import BackupCore
import BackupRepository
import SystemIO

/// What the rules of a remote keep there and remove from there. They are about this store's own backups, as the store's own rules
/// are: those of other stores, safety backups and pinned ones stay.
struct RemoteRetention {
    /// The outcome of the rules.
    struct Plan {
        /// The backups of the repository here that belong into the remote.
        let kept: Set<SnapshotID>
        /// Of the backups in the remote.
        let there: ForgetOperation.Plan
    }

    let store: Store
    let remote: RemoteSettings

    /// Decides about all backups that are here or there.
    /// - Parameter copy: the remote's copy of the repository; `nil` when it is still empty.
    /// - Throws: as `ForgetOperation.plan`: then nothing is known.
    func plan(_ copy: Repository?) throws(BackupError) -> Plan {
        let plan = try ForgetOperation(store: store).plan(forRemote: remote.retention, copy)
        let removed = Set(plan.removed.map(\.id))
        return Plan(
            kept: meant().subtracting(removed),
            there: plan.limited { copy?.snapshot(id: $0.id) != nil })
    }

    /// The backups of the repository here that this store uploads, unless its rules leave them out.
    func meant() -> Set<SnapshotID> {
        let others = sourcesWithOwnRules()
        return Set(
            store.repository.snapshots().filter { snapshot in snapshot.source.map { !others.contains($0) } ?? true }.map(\.id))
    }

    /// Other stores in the repository that have rules of their own for this place. They decide what lies there of theirs:
    /// otherwise this store would upload again what they have removed.
    func sourcesWithOwnRules() -> Set<SourceID> {
        let documents = (try? store.repository.sources()) ?? []
        return Set(
            documents.filter { document in
                guard document.id != store.source, let text = try? SettingsText(document.settings, path: ""),
                    let settings = try? StoreSettings(text)
                else { return false }
                return settings.remotes.contains { $0.isAtSamePlace(as: remote) && !$0.retention.isEmpty }
            }.map(\.id))
    }

    /// Nothing is removed while it is not certain which backups there are, whose they are, and which are pinned.
    /// - Throws: the reason.
    func requireCertain(_ copy: Repository) throws(BackupError) {
        try Self.requireReadable(copy)
        try store.requireClaimedSource()
        guard store.settings.hasEnd else { throw StoreSettings.cutOff(store.paths.settings) }
        guard let error = store.repository.registerError ?? store.repository.recordDamages.first else { return }
        throw Self.refusal(error)
    }

    /// - Throws: why it is not certain what there is in a remote.
    static func requireReadable(_ copy: Repository) throws(BackupError) {
        if let error = copy.listDamages.first ?? copy.registerError {
            throw refusal(error).with(
                remedy: "Remove this object with the server's own tools, and upload what is here again with: backupfs sync")
        }
        if let unlabelled = copy.snapshotsWithoutLabel().first {
            throw BackupError(
                .repositoryDamaged,
                "no old backup was removed, since it is not known whether “\(unlabelled.name)” is pinned: its label is missing",
                path: copy.location, remedy: "See what is missing with: backupfs check --remote NAME")
        }
    }

    /// Backups that the rules keep count only when they are in the remote: until then, nothing may be removed in favour of them.
    /// - Throws: `notPermitted` when one is not there yet.
    static func requireArrived(_ plan: Plan, in copy: Repository) throws(BackupError) {
        guard plan.kept.contains(where: { copy.snapshot(id: $0) == nil }) else { return }
        throw BackupError(
            .notPermitted, "no old backup was removed, since newer ones are not in the remote yet", path: copy.location,
            remedy: "Upload them with: backupfs sync")
    }

    /// Why an automatic removal must wait, although everything is readable: the clock or the data may be wrong.
    func doubt() -> BackupError? {
        if store.isQuiet {
            return BackupError(
                .notPermitted, "no old backup was removed: this store has adopted backups and has not used them yet")
        }
        return RetentionGuard(store: store).problem(now: SystemClock.now()).map {
            BackupError(.notPermitted, "no old backup was removed: \($0)")
        }
    }

    private static func refusal(_ error: BackupError) -> BackupError {
        error.with(nil, "no old backup was removed, since it is not known which there are and which are pinned: \(error.message)")
    }
}

extension ForgetOperation.Plan {
    /// The same decisions about fewer backups.
    func limited(to isMeant: (Snapshot) -> Bool) -> ForgetOperation.Plan {
        var plan = ForgetOperation.Plan(items: items.filter { isMeant($0.snapshot) }, rule: rule, held: held.filter(isMeant))
        plan.givenUp = givenUp
        return plan
    }

    /// The same, but some backups stay.
    /// - Parameter reason: why one stays; `nil` if it may be removed.
    func keeping(_ reason: (Snapshot) -> Message?) -> ForgetOperation.Plan {
        var plan = ForgetOperation.Plan(
            items: items.map { item in
                guard item.reasons.isEmpty, let reason = reason(item.snapshot) else { return item }
                return Item(snapshot: item.snapshot, reasons: [reason])
            }, rule: rule, held: held)
        plan.givenUp = givenUp
        return plan
    }
}
