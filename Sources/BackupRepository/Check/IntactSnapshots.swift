import BackupCore

/// Which snapshots can be read completely, by the packs that are there and their indexes: no data of files is read.
final class IntactSnapshots {
    private let walk: TreeWalk

    /// - Parameter counts: whether a pack counts; the others are left out.
    /// - Throws: errors of reading the packs' indexes, and all others that are no damage.
    init(_ repository: Repository, counting counts: (PackID) -> Bool = { _ in true }) throws(BackupError) {
        var inventory = try PackInventory(repository.catalog)
        for pack in inventory.packs where !counts(pack.id) {
            for row in pack.firstRow..<pack.firstRow + pack.chunkCount { inventory.table.setDamaged(row) }
        }
        walk = TreeWalk(repository, inventory, usesUnlistedChunks: false) { (problem) throws(BackupError) in
            try Self.requireDamage(problem)
        }
    }

    /// The packs, with the chunks marked that the snapshots need that were looked at.
    var inventory: PackInventory { walk.inventory }

    /// What cannot be read at the moment is not damaged.
    /// - Throws: an error that is no damage.
    private static func requireDamage(_ problem: TreeWalk.Problem) throws(BackupError) {
        guard case .structure(let error, _) = problem else { return }
        let passing: [BackupError.Code] = [.offline, .interrupted, .busy, .locked, .accessDenied, .noSpace, .noResources]
        if passing.contains(error.code) { throw error }
    }

    func contains(_ snapshot: Snapshot) throws(BackupError) -> Bool { try !walk.visit(snapshot) }
}
