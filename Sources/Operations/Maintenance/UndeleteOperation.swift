import BackupCore
import BackupRepository
import SystemIO

/// Brings removed backups back.
public struct UndeleteOperation: Sendable {
    /// A backup that is there again.
    public struct Result: Sendable {
        public let snapshot: Snapshot
        /// What of it is not in the repository any more; empty when it is whole.
        public let problems: [BackupError]
        /// Whether it was pinned, so that no rule removes it again with the next backup.
        public let wasPinned: Bool
    }

    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - names: what the backups were called, or at least the first eight digits of their IDs. Of several that had one name, the one that was removed
    ///     last is taken.
    ///   - newName: what the backup is called from now on, if there is one only; `nil` for what it was called.
    /// - Throws: `invalidArgument` for a name that a new backup could not have either; `notFound`, `notPermitted` when it is not known which of several is meant, and then nothing is changed; `alreadyExists` when there is another backup of that name: those before it are back.
    public func run(_ names: [String], as newName: FileName?) throws(BackupError) -> [Result] {
        if let newName, !newName.isSnapshotName {
            throw BackupError(
                .invalidArgument, "this cannot be the name of a backup", path: newName.description,
                remedy: "Choose another name.")
        }
        return try store.recorded(.undelete) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            try store.repository.refresh()
            let removed = try store.repository.removedSnapshots()
            var found: [RemovedSnapshot] = []
            for name in names {
                let one = try find(name, among: removed)
                if !found.contains(one) { found.append(one) }
            }
            var results: [Result] = []
            for one in found {
                let mustBePinned = mustBePinned(one.snapshot)
                let (snapshot, problems) = try bringBack(one, as: newName, pinned: mustBePinned)
                results.append(Result(snapshot: snapshot, problems: problems, wasPinned: mustBePinned))
            }
            if let only = results.first, results.count == 1 { facts.snapshot = only.snapshot.name.description }
            if results.contains(where: { !$0.problems.isEmpty }) { facts.error = .repositoryDamaged }
            return results
        }
    }

    private func bringBack(
        _ removed: RemovedSnapshot, as newName: FileName?, pinned: Bool
    ) throws(BackupError) -> (Snapshot, [BackupError]) {
        let name = removed.snapshot.name
        do {
            return try store.repository.bringBackSnapshot(removed.snapshot.id, as: newName, pinned: pinned)
        } catch let error where error.code == .alreadyExists {
            throw BackupError(
                .alreadyExists, error.message, path: (newName ?? name).description,
                remedy:
                    "Bring it back under another name: backupfs undelete \(removed.snapshot.id.hexadecimal.prefix(8)) --as NAME")
        }
    }

    /// What is brought back must not be removed again with the next backup, whether by this store's rule, by another store's, which is not known
    /// here, or by the limit of safety backups.
    private func mustBePinned(_ snapshot: Snapshot) -> Bool {
        guard !snapshot.isPinned else { return false }
        guard snapshot.kind == .snapshot, store.owns(snapshot) else { return true }
        // Where the rule cannot be asked, the backup stays.
        return (try? ForgetOperation(store: store).removesSoon(returned: snapshot)) != false
    }

    private func find(_ name: String, among removed: [RemovedSnapshot]) throws(BackupError) -> RemovedSnapshot {
        if let found = try store.removedSnapshot(named: name, among: removed) { return found }
        let isHidden = (try? store.repository.removedDamages().isEmpty) == false
        throw BackupError(
            .notFound, "no removed backup has this name", path: name,
            remedy: isHidden
                ? "The record of a removed backup cannot be read. Repair what can be with: backupfs check --repair"
                : "See those that can be brought back: backupfs snapshots --removed")
    }
}
