import BackupCore
import BackupRepository
import SystemIO

/// Brings removed backups back.
public struct UndeleteOperation: Sendable {
    /// A backup that was brought back.
    public struct Result: Sendable {
        public let snapshot: Snapshot
        /// Parts that are no longer in the repository; empty when the backup is complete.
        public let problems: [BackupError]
        /// Whether it was pinned, so that no rule removes it again after the next backup.
        public let wasPinned: Bool
    }

    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - names: former names of backups, or at least the first eight digits of their IDs. Of several with one name, the one
    ///     removed last.
    ///   - newName: the new name, if there is only one backup; `nil` for its former name.
    /// - Throws: `invalidArgument` for a name that a new backup could not have either; `notFound`, or `notPermitted` when a name
    ///   is ambiguous, and then nothing is changed; `alreadyExists` when another backup has the name: the backups listed before
    ///   it are back.
    public func run(_ names: [String], as newName: FileName?) throws(BackupError) -> [Result] {
        if let newName, !newName.isSnapshotName {
            throw BackupError(
                .invalidArgument, "this cannot be the name of a backup", path: newName.description,
                remedy: "Choose another name.")
        }
        return try store.recorded(.undelete) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            let remoteLock = try store.lockRemote()
            defer { withExtendedLifetime((lock, remoteLock)) {} }
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
            throw error.with(
                path: (newName ?? name).description,
                remedy:
                    "Bring it back under another name: backupfs undelete \(removed.snapshot.id.hexadecimal.prefix(8)) --as NAME")
        }
    }

    /// A returned backup must not be removed again after the next backup: by this store's rule, by another store's rule, which is
    /// unknown here, or by the limit of safety backups.
    private func mustBePinned(_ snapshot: Snapshot) -> Bool {
        guard !snapshot.isPinned else { return false }
        // The rules of a remote are not those of the store.
        guard store.remoteName == nil else { return true }
        guard snapshot.kind == .snapshot, store.owns(snapshot) else { return true }
        // Where the rule cannot be evaluated, the backup is kept.
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
