import BackupCore

/// Which snapshots can be read completely without some packs: a mirror gets no record whose packs it does not get.
final class IntactSnapshots {
    private let walk: TreeWalk

    /// - Parameter packs: those that are left out.
    /// - Throws: errors of reading the packs' indexes.
    init(_ repository: Repository, without packs: Set<PackID>) throws(BackupError) {
        var inventory = try PackInventory(repository.catalog)
        for pack in inventory.packs where packs.contains(pack.id) {
            for row in pack.firstRow..<pack.firstRow + pack.chunkCount { inventory.table.setDamaged(row) }
        }
        walk = TreeWalk(repository, inventory, usesUnlistedChunks: false) { _ in }
    }

    func contains(_ snapshot: Snapshot) throws(BackupError) -> Bool { try !walk.visit(snapshot) }
}
