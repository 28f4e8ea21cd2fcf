import AppData
import BackupCore
import BackupRepository
import SnapshotFormats
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
        let stored = PreviousBackup(newest, in: repository).folder("media")
        let catalog = stored.map { StoredMediaCatalog($0, in: repository) }
        known.withLock { $0 = (newest.id, catalog) }
        return catalog
    }
}

/// The newest backup of any kind from this store; a new one shares most of its content. Parts of it that are unreadable are read
/// from the app again.
struct PreviousBackup {
    private let repository: Repository
    private let root: Directory?
    let snapshot: Snapshot?
    /// The state of the database in this backup, if known.
    let databaseState: String?

    /// - Parameter newest: `nil` when there is none.
    init(_ newest: Snapshot?, in repository: Repository) {
        self.repository = repository
        snapshot = newest
        root = newest.flatMap { try? repository.rootDirectory(of: $0) }
        databaseState = newest?.record.attributes[Snapshot.databaseStateAttribute]
    }

    /// A folder in the root.
    func folder(_ name: FileName) -> StoredDirectory? { root?.entry(named: name)?.storedDirectory }

    /// A file's content.
    func content(_ path: [FileName]) -> FileContent? { file(path)?.content }

    /// A file.
    func file(_ path: [FileName]) -> TreeEntry? {
        var directory = root
        for name in path.dropLast() {
            directory = directory?.entry(named: name).flatMap { try? repository.directory(of: $0) }
        }
        guard let last = path.last, let entry = directory?.entry(named: last), entry.kind == .file else { return nil }
        return entry
    }
}
