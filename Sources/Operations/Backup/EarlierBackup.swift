import BackupCore
import BackupRepository

/// The newest backup of any kind from this store; a new one shares most of its content. Parts of it that are unreadable are read from the app again.
struct EarlierBackup {
    private let repository: Repository
    private let root: Directory?
    let snapshot: Snapshot?
    /// The state of the database in this backup, if known.
    let databaseState: String?

    init(of store: Store) {
        self.init(store.ownership.newest(of: store.repository.snapshots()), in: store.repository)
    }

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
