import BackupCore
import SystemIO

/// The chunks that snapshots of a repository need. Each snapshot is walked through once, as long as the repository's packs stay
/// the same. When they have changed, all of it is found out again: what was not seen in one listing must not count as seen in
/// another.
final class NeededChunks {
    private let repository: Repository
    private var intact: IntactSnapshots
    private var packs: Set<PackID>
    private var visited: Set<SnapshotID> = []
    /// Snapshots that could not be read completely when they were walked through.
    private(set) var incomplete: Set<SnapshotID> = []
    /// How often the packs' indexes were read for a walk.
    private(set) var walkCount = 1

    /// - Throws: errors of reading the packs' indexes.
    init(of repository: Repository) throws(BackupError) {
        self.repository = repository
        packs = try PackFolder.names(repository.layout)
        intact = try IntactSnapshots(repository)
    }

    /// The packs of the last update, with the chunks that are needed marked.
    var inventory: PackInventory { intact.inventory }

    /// Whether all that the snapshot needs was there at the last update, and is marked. False for one that the update did not
    /// have.
    func isComplete(_ id: SnapshotID) -> Bool { visited.contains(id) && !incomplete.contains(id) }

    /// Walks through snapshots that are new, and through all of them when packs are new or gone.
    /// - Throws: as `IntactSnapshots`.
    func update(_ snapshots: [Snapshot]) throws(BackupError) {
        // Before their indexes: with a pack that goes or comes meanwhile, the next update begins again.
        let now = try PackFolder.names(repository.layout)
        if now != packs {
            intact = try IntactSnapshots(repository)
            (visited, incomplete, packs) = ([], [], now)
            walkCount += 1
        }
        for snapshot in snapshots where !visited.contains(snapshot.id) {
            try Cancellation.check()
            if try !intact.contains(snapshot) { incomplete.insert(snapshot.id) }
            visited.insert(snapshot.id)
        }
    }
}
