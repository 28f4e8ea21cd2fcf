import BackupCore
import BackupRepository
import Synchronization

/// The media folder of the newest backup, as long as it is the newest.
final class NewestMediaCatalog: Sendable {
    private let repository: Repository
    private let known = Mutex<(id: SnapshotID, catalog: StoredMediaCatalog?)?>(nil)

    init(repository: Repository) { self.repository = repository }

    /// - Returns: `nil` when there is no backup, or none that could be read.
    @Sendable
    func catalog() -> StoredMediaCatalog? {
        guard let newest = repository.snapshots().last else { return nil }
        if let known = known.withLock({ $0 }), known.id == newest.id { return known.catalog }
        let stored = EarlierBackup(in: repository).folder("media")
        let catalog = stored.map { StoredMediaCatalog($0, in: repository) }
        known.withLock { $0 = (newest.id, catalog) }
        return catalog
    }
}
