import BackupCore
import SystemIO

/// The chunks that snapshots of a repository need. Each snapshot is walked through once; when packs of the repository have
/// changed since, only their indexes are read again: what a snapshot needs stays the same.
final class NeededChunks {
    private let repository: Repository
    private let walk: TreeWalk
    private var packs: Set<PackID>
    private var visited: Set<SnapshotID> = []
    /// Snapshots that could not be read completely when they were walked through.
    private(set) var incomplete: Set<SnapshotID> = []
    /// Whether a chunk is no longer here that was here then.
    private(set) var hasLost = false

    /// - Throws: errors of reading the packs' indexes.
    init(of repository: Repository) throws(BackupError) {
        self.repository = repository
        packs = try PackFolder.names(repository.layout)
        let inventory = try PackInventory(repository.catalog)
        walk = TreeWalk(repository, inventory, usesUnlistedChunks: false) { (problem) throws(BackupError) in
            try IntactSnapshots.requireDamage(problem)
        }
    }

    /// The packs of the last update, with the chunks that are needed marked.
    var inventory: PackInventory { walk.inventory }

    /// Looks at packs that are new or gone, and walks through snapshots that are new.
    /// - Throws: as `IntactSnapshots`.
    func update(_ snapshots: [Snapshot]) throws(BackupError) {
        let now = try PackFolder.names(repository.layout)
        if now != packs {
            if try !walk.renew(PackInventory(repository.catalog)) { hasLost = true }
            packs = now
        }
        for snapshot in snapshots where !visited.contains(snapshot.id) {
            try Cancellation.check()
            if try walk.visit(snapshot) { incomplete.insert(snapshot.id) }
            visited.insert(snapshot.id)
        }
    }
}
