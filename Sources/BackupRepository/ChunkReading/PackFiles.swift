import BackupCore
import SystemIO

/// Pack files open for reading. The most recently used ones stay open; a reader keeps its file open beyond that.
final class PackFiles: Sendable {
    /// Descriptors are scarce, and packs are used one after the other.
    private static let openFileLimit = 64

    private let layout: RepositoryLayout
    private let cache = Monitor(BoundedCache<PackID, SharedFile>(costLimit: openFileLimit))

    init(layout: RepositoryLayout) { self.layout = layout }

    /// Whether the files are a cache of packs that lie elsewhere.
    var areCached: Bool { layout.packSource != nil }

    func path(of pack: PackID) -> String { layout.shownPackPath(of: pack) }

    /// - Throws: `notFound` when the pack is gone.
    func open(_ pack: PackID) throws(BackupError) -> SharedFile {
        if let file = cache.withLock({ $0.value(for: pack) }) { return file }
        let file = try layout.openPack(pack)
        cache.withLock { cache in
            // A removed pack takes disk space as long as it is open.
            cache.removeAll { (try? $0.status().linkCount) == 0 }
            cache.insert(file, for: pack, cost: 1)
        }
        return file
    }

    /// Opens the pack from its storage again, where a damaged copy of it was cached.
    /// - Returns: whether it makes sense to read it again.
    func reopen(_ pack: PackID) throws(BackupError) -> Bool {
        guard let file = try layout.reopenPack(pack) else { return false }
        cache.withLock { $0.insert(file, for: pack, cost: 1) }
        return true
    }

    /// Closes the pack for later readers: the file may have been replaced.
    func forget(_ pack: PackID) { cache.withLock { $0.remove(pack) } }
}
