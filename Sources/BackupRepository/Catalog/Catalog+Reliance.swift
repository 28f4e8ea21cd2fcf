import BackupCore
import GRDB
import Synchronization

/// Chunks that new backups may rely on. SQLite does not notice when the pages of a catalog are from two points in time, as after a torn write or beside the
/// write-ahead log of another copy. So an entry that a backup relies on is compared with the pack's own index.
extension Catalog {
    /// The chunk, if it is in a pack that new backups may rely on. If it needs a base, that must be in such a pack too.
    /// - Throws: `repositoryDamaged` when the catalog disagrees with a pack.
    func findIntact(_ id: ChunkID) throws(BackupError) -> StoredChunk? { try findIntact([id])[0] }

    /// The chunks, in the order of `ids`; `nil` for those that are in no pack that new backups may rely on.
    /// - Throws: `repositoryDamaged` when the catalog disagrees with a pack.
    func findIntact(_ ids: [ChunkID]) throws(BackupError) -> [StoredChunk?] {
        guard !ids.isEmpty else { return [] }
        let damaged = damagedPacks
        return try readTogether(ids.count) { database in
            let query = try ChunkQuery(database, protection)
            return try ids.map { id in
                var whole: StoredChunk?
                var differences: [StoredChunk] = []
                try query.run(id) { chunk in
                    guard damaged[chunk.pack] == nil, try isHeld(chunk) else { return }
                    if chunk.base == nil { whole = whole ?? chunk } else { differences.append(chunk) }
                }
                if let whole { return whole }
                return try differences.first { chunk in
                    guard let base = chunk.base else { return false }
                    var isBaseIntact = false
                    try query.run(base) {
                        if $0.base == nil, damaged[$0.pack] == nil, try isHeld($0) { isBaseIntact = true }
                    }
                    return isBaseIntact
                }
            }
        }
    }

    /// Whether the chunk's pack can be read, and holds the chunk where the catalog says.
    private func isHeld(_ chunk: StoredChunk) throws(BackupError) -> Bool {
        let pack = chunk.pack
        let rows = try proofs.rows(of: pack, path: layout.packPath(of: pack)) { () throws(BackupError) in
            try readIndex(pack)?.index
        }
        guard let rows else { return false }
        guard rows.contains(chunk) else {
            throw Self.difference(
                from: pack, path: path,
                remedy: "Run the command again. If it says this again, rebuild the catalog with: backupfs check --repair")
        }
        return true
    }

    static func difference(from pack: PackID, path: String, remedy: Message) -> BackupError {
        BackupError(
            .repositoryDamaged, "the catalog says something else of pack \(pack) than the pack itself", path: path,
            remedy: remedy)
    }
}

extension Repository {
    /// How often the catalog was rebuilt since the repository was opened.
    public var catalogReplacementCount: Int { catalog.replacementCount }

    /// Rebuilds the catalog from the packs if it disagrees with them or cannot be read.
    /// - Returns: whether it was rebuilt.
    public func mendCatalog() throws(BackupError) -> Bool {
        guard try isCatalogWrong() else { return false }
        try catalog.rebuild()
        return true
    }

    private func isCatalogWrong() throws(BackupError) -> Bool {
        let inventory = try PackInventory(self)
        do throws(BackupError) {
            if try !catalog.differing(from: inventory).isEmpty { return true }
            let present = Set(inventory.packs.map(\.id) + inventory.unreadable.map(\.pack))
            return try !catalog.sums().keys.allSatisfy(present.contains)
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return true
        }
    }
}
