import BackupCore
import SystemIO

extension SnapshotCopy {
    /// How much a copy adds to the target, as far as it is known before. Walks through the folders of the snapshots, unless the
    /// source is smaller than the space.
    /// - Parameter availableBytes: the space that the target has.
    /// - Returns: the stored bytes; `nil` if they fit for certain, and if nothing is known: where chunks have other names in the
    ///   target, what it has of them is only found out by copying, and a guess must not keep backups from being copied.
    /// - Throws: errors of reading the packs' indexes.
    public func requiredBytes(for items: [Item], beyond availableBytes: UInt64) throws(BackupError) -> UInt64? {
        var wanted: [Snapshot] = []
        for item in items { if case .copy = item.verdict { wanted.append(item.snapshot) } }
        // A copy that was interrupted has left packs, which the next one uses.
        let isEmpty = try PackFolder.names(target.layout).isEmpty
        guard !wanted.isEmpty, method == .asStored || method == .renamingChunks && isEmpty else { return nil }
        let sourceBytes = try PackFolder.list(source.layout).values.reduce(UInt64(0)) { $0.addingSaturating($1) }
        guard sourceBytes > availableBytes else { return nil }
        // What cannot be read is not copied either.
        let walk = try TreeWalk(source, PackInventory(source.catalog), usesUnlistedChunks: false) { _ in }
        for snapshot in wanted {
            try Cancellation.check()
            _ = try walk.visit(snapshot)
        }
        let there = method == .asStored ? try PackInventory(target.catalog).table : nil
        let table = walk.inventory.table
        var bytes: UInt64 = 0
        for row in table.rows.indices where table.isNeeded(row) {
            let key = table.rows[row].key
            // Of several rows of a chunk, one is copied.
            guard table.firstRow(of: key) == row, there?.hasUsable(key) != true else { continue }
            bytes = bytes.addingSaturating(UInt64(table.rows[row].storedLength))
        }
        return bytes
    }
}
