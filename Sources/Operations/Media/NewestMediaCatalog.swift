import BackupCore
import BackupRepository
import Synchronization

/// The media folder of the newest backup, cached while it is the newest.
final class NewestMediaCatalog: Sendable {
    private let repository: Repository
    private let known = Mutex<(id: SnapshotID, catalog: StoredMediaCatalog?)?>(nil)

    private let ownership: SnapshotOwnership

    init(repository: Repository, ownership: SnapshotOwnership) {
        self.repository = repository
        self.ownership = ownership
    }

    /// - Returns: `nil` when there is no backup, or it could not be read.
    @Sendable
    func catalog() -> StoredMediaCatalog? {
        guard let newest = ownership.newest(of: repository.snapshots()) else { return nil }
        if let known = known.withLock({ $0 }), known.id == newest.id { return known.catalog }
        let stored = EarlierBackup(newest, in: repository).folder("media")
        let catalog = stored.map { StoredMediaCatalog($0, in: repository) }
        known.withLock { $0 = (newest.id, catalog) }
        return catalog
    }
}
