import BackupCore
import ObjectStorage
import SystemIO

/// Which snapshots an update uploads: a mirror gets no record whose data it does not get.
extension RepositoryMirror {
    /// The snapshots that the mirror has, or that are complete here. The others are noted.
    /// - Parameter damaged: packs that could not be uploaded.
    func intact(
        _ snapshots: [Snapshot], without damaged: Set<PackID>, _ present: [MirrorObject: ObjectFacts], _ managed: ManagedMirror?
    ) throws(BackupError) -> [Snapshot] {
        guard snapshots.contains(where: { present[.snapshot($0.id)] == nil }) else { return snapshots }
        // Its walk has found out the same, unless something was lost since then.
        if damaged.isEmpty, let known = try managed?.incomplete() {
            return snapshots.filter { snapshot in
                guard present[.snapshot(snapshot.id)] == nil, known.contains(snapshot.id) else { return true }
                noteIncomplete(snapshot)
                return false
            }
        }
        return try select(snapshots, without: damaged, present) { noteIncomplete($0) }
    }

    /// Those that need no pack that a prune of the mirror is going to remove.
    func unblocked(
        _ snapshots: [Snapshot], by blocked: Set<PackID>, _ present: [MirrorObject: ObjectFacts]
    ) throws(BackupError) -> [Snapshot] {
        blocked.isEmpty ? snapshots : try select(snapshots, without: blocked, present) { _ in }
    }

    /// Walks through the snapshots that the mirror lacks.
    private func select(
        _ snapshots: [Snapshot], without packs: Set<PackID>, _ present: [MirrorObject: ObjectFacts],
        didLeaveOut: (Snapshot) -> Void
    ) throws(BackupError) -> [Snapshot] {
        summary.withLock { $0.walkCount += 1 }
        let intact = try IntactSnapshots(repository, without: packs)
        var selected: [Snapshot] = []
        for snapshot in snapshots {
            try Cancellation.check()
            if present[.snapshot(snapshot.id)] == nil, try !intact.contains(snapshot) {
                didLeaveOut(snapshot)
            } else {
                selected.append(snapshot)
            }
        }
        return selected
    }

    private func noteIncomplete(_ snapshot: Snapshot) {
        let error = BackupError(
            .repositoryDamaged, "data of the backup “\(snapshot.name)” is missing or damaged here", path: layout.path,
            remedy: "See what is affected with: backupfs check")
        summary.withLock { $0.unreadable.append(error) }
    }
}
