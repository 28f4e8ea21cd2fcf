import BackupCore

/// Refuses to prune a repository of which a part is not there: copied halfway, or with a record that was lost. What those backups need would go
/// for good, and they would be hurt when the rest is copied. It is asked before anything is given up.
struct PruneGuard {
    private let repository: Repository
    private let allowsEmpty: Bool
    private let forgetsMissing: Bool

    /// - Parameters:
    ///   - allowsEmpty: whether everything may go when there is no backup.
    ///   - forgetsMissing: whether backups whose records are missing are given up, and packs that cannot be read are no hindrance.
    init(_ repository: Repository, allowsEmpty: Bool, forgetsMissing: Bool) {
        self.repository = repository
        self.allowsEmpty = allowsEmpty
        self.forgetsMissing = forgetsMissing
    }

    /// - Parameter removed: records of removed snapshots that cannot be read and are not to be given up.
    /// - Throws: the reason why a record cannot be read.
    func requireReadable(removed: [RemovedDamage]) throws(BackupError) {
        let path = repository.layout.snapshots
        if let damage = repository.snapshotStore.list.damages.first(where: { $0.path?.hasPrefix(path) == true }) {
            throw PrunePlan.refusal(
                BackupError(damage.code, "a snapshot's record cannot be read: \(damage.message)", path: damage.path))
        }
        guard let damage = removed.first?.error else { return }
        throw BackupError(
            damage.code,
            "nothing was pruned, since it is not known which data is needed: a removed snapshot's record cannot be read: \(damage.message)",
            path: damage.path,
            remedy: damage.code == .repositoryDamaged
                ? "Copy this file back from another copy of the repository, or repair what can be with: backupfs check --repair"
                : damage.remedy)
    }

    /// The chunks of a pack that cannot be read may need others as their bases.
    /// - Throws: `repositoryDamaged`, or the reason why a pack cannot be read, unless what is missing is given up.
    func requireReadable(_ inventory: PackInventory) throws(BackupError) {
        // What a later version has written is neither damaged nor missing: nobody can give it up here.
        let newer = inventory.unreadable.first { $0.error.code == .unsupportedVersion }
        guard let damage = newer ?? (forgetsMissing ? nil : inventory.unreadable.first) else { return }
        throw BackupError(
            damage.error.code,
            "nothing was pruned, since it is not known which data is needed: a pack cannot be read: \(damage.error.message)",
            path: repository.layout.packPath(of: damage.pack),
            remedy: damage.error.code == .repositoryDamaged
                ? "Repair what can be with: backupfs check --repair" : damage.error.remedy)
    }

    /// - Parameters:
    ///   - visible: all snapshots that are there.
    ///   - removed: those that can be brought back, and those whose time is over.
    /// - Throws: `repositoryDamaged` when something that a backup needs may be taken for unused.
    /// - Returns: the snapshots that are missing and are to be given up.
    func check(visible: [Snapshot], removed: [RemovedSnapshot]) throws(BackupError) -> [SnapshotID] {
        guard visible.isEmpty else {
            let missing = try missing()
            guard forgetsMissing || missing.isEmpty else { throw refusal(missing) }
            return missing
        }
        if allowsEmpty { return (try? missing()) ?? [] }
        // It is known that all were removed, and none lost, when the register, which names those that were not, is there and names none.
        if !removed.isEmpty, try repository.snapshotStore.isComplete() { return [] }
        guard try repository.packs().contains(where: { (try? repository.packIndex(of: $0).kind) == .metadata }) else { return [] }
        throw BackupError(
            .repositoryDamaged, "nothing was pruned: the repository has the data of backups, but no backup",
            path: repository.layout.snapshots,
            remedy:
                "If it was copied, copy its folder snapshots as well. If all backups were deleted on purpose: backupfs prune --empty"
        )
    }

    private func missing() throws(BackupError) -> [SnapshotID] {
        do throws(BackupError) {
            if !forgetsMissing, try repository.snapshotStore.isRegisterMissing() {
                throw MissingFinding.register(repository.layout)
            }
            return try repository.snapshotStore.missingSnapshots().records
        } catch {
            // A later version's register says nothing to this one.
            if error.code == .unsupportedVersion { return [] }
            guard error.code == .repositoryDamaged else { throw error }
            throw BackupError(
                .repositoryDamaged, "nothing was pruned, since it is not known which backups there should be: \(error.message)",
                path: error.path,
                remedy: error.remedy
                    ?? "Copy this file from another copy of the repository, or rebuild it from the records that are there: backupfs check --repair"
            )
        }
    }

    private func refusal(_ missing: [SnapshotID]) -> BackupError {
        BackupError(
            .repositoryDamaged,
            .plural(
                missing.count, one: "nothing was pruned: the record of \(missing.count) backup is missing",
                other: "nothing was pruned: the records of \(missing.count) backups are missing"),
            path: missing.first.map(repository.layout.snapshotPath), remedy: MissingFinding.recordRemedy)
    }
}
