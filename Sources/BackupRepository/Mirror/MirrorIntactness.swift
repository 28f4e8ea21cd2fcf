import BackupCore
import ObjectStorage
import SystemIO

/// Which snapshots an update uploads: a mirror gets no record whose data it does not get.
extension RepositoryMirror {
    /// The snapshots that the mirror has, or whose data it has now. Those whose data is missing here are noted.
    func intact(
        _ snapshots: [Snapshot], _ packs: PackUpload, _ present: [MirrorObject: ObjectFacts], _ managed: ManagedMirror?
    ) throws(BackupError) -> [Snapshot] {
        func isMissing(_ snapshot: Snapshot) -> Bool { present[.snapshot(snapshot.id)] == nil }
        guard snapshots.contains(where: isMissing) else { return snapshots }
        guard let managed else {
            // Only what it has counts: a pack that was gone when packs were uploaded may be back now.
            let stored = packs.stored
            if try hasAll(of: snapshots.filter(isMissing), stored, packs.damaged) { return snapshots }
            return try select(snapshots, present, counting: { stored[$0] != nil }) { noteIncomplete($0) }
        }
        // The same walk has said which packs are uploaded. Another one could count a pack that was not among them.
        let covered = snapshots.filter { snapshot in
            if isMissing(snapshot), managed.isIncomplete(snapshot.id) { noteIncomplete(snapshot) }
            return !isMissing(snapshot) || managed.isCovered(snapshot.id)
        }
        guard !packs.damaged.isEmpty else { return covered }
        return try select(covered, present, counting: { !packs.damaged.contains($0) }) { noteIncomplete($0) }
    }

    /// Whether the packs are known that snapshots need, and the mirror has them all as they are here.
    /// - Parameters:
    ///   - stored: the packs of the mirror, with their lengths in bytes.
    ///   - damaged: packs that are damaged here, and that the mirror does not have whole.
    private func hasAll(
        of snapshots: [Snapshot], _ stored: [PackID: UInt64], _ damaged: Set<PackID>
    ) throws(BackupError) -> Bool {
        var needed: Set<PackID> = []
        for snapshot in snapshots {
            guard let packs = repository.knownNeeds.withLock({ $0.packs(of: snapshot.id) }) else { return false }
            needed.formUnion(packs)
        }
        for pack in needed {
            guard let sizeBytes = stored[pack], !damaged.contains(pack),
                try FileSystem.look(layout.packPath(of: pack))?.size == sizeBytes
            else { return false }
        }
        return true
    }

    /// Those that need no pack that a prune of the mirror is going to remove.
    func unblocked(
        _ snapshots: [Snapshot], by blocked: Set<PackID>, _ present: [MirrorObject: ObjectFacts]
    ) throws(BackupError) -> [Snapshot] {
        blocked.isEmpty ? snapshots : try select(snapshots, present, counting: { !blocked.contains($0) }) { _ in }
    }

    /// Walks through the snapshots that the mirror lacks.
    private func select(
        _ snapshots: [Snapshot], _ present: [MirrorObject: ObjectFacts], counting counts: (PackID) -> Bool,
        didLeaveOut: (Snapshot) -> Void
    ) throws(BackupError) -> [Snapshot] {
        summary.withLock { $0.walkCount += 1 }
        let intact = try IntactSnapshots(repository, counting: counts)
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
