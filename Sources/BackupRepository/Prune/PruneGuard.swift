import BackupCore

/// Refuses to prune an incomplete repository, such as one that was half copied or has lost a record. Data that the missing
/// backups need would be removed for good, and they would be damaged even when the rest is copied later. It is asked before
/// anything is given up.
struct PruneGuard {
    private let repository: Repository
    private let allowsEmpty: Bool
    private let forgetsMissing: Bool

    /// - Parameters:
    ///   - allowsEmpty: whether everything may be removed when there is no backup.
    ///   - forgetsMissing: whether backups with missing records are given up and unreadable packs are ignored.
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
    /// - Throws: `repositoryDamaged`, or the reason why a pack cannot be read, unless missing data is given up.
    func requireReadable(_ inventory: PackInventory) throws(BackupError) {
        // Data that a later version has written is neither damaged nor missing, so it cannot be given up here.
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
    ///   - visible: all existing snapshots.
    ///   - removed: those that can be undeleted, and those that have expired.
    /// - Throws: `repositoryDamaged` when data that a backup needs may be mistaken for unused.
    /// - Returns: the missing snapshots to give up.
    func check(visible: [Snapshot], removed: [RemovedSnapshot]) throws(BackupError) -> [SnapshotID] {
        guard visible.isEmpty else {
            let missing = try missing()
            guard forgetsMissing || missing.isEmpty else { throw refusal(missing) }
            return missing
        }
        if allowsEmpty { return (try? missing()) ?? [] }
        // The register names all snapshots that were not removed. If it exists and names none, all were removed and none was
        // lost.
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
                throw SnapshotRegister.missing(repository.layout)
            }
            return try repository.snapshotStore.missingSnapshots().records
        } catch {
            // This version cannot read a later version's register.
            if error.code == .unsupportedVersion { return [] }
            guard error.code == .repositoryDamaged else { throw error }
            throw error.with(
                .repositoryDamaged, "nothing was pruned, since it is not known which backups there should be: \(error.message)",
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
            path: missing.first.map(repository.layout.snapshotPath), remedy: CheckFinding.missingRecordRemedy)
    }
}
