import AppData
import BackupCore
import BackupRepository
import Synchronization

/// A media folder in a backup, or in one being made. Reads only folders.
final class StoredMediaCatalog: MediaCatalog {
    /// How many folders to cache.
    private static let countLimit = 64

    private let root: StoredDirectory
    private let repository: Repository
    private let known = Mutex<[[UInt8]: Directory]>([:])

    /// - Parameter root: a folder whose chunks are all in the catalog.
    init(_ root: StoredDirectory, in repository: Repository) {
        self.root = root
        self.repository = repository
    }

    /// - Parameter path: relative to the folder.
    func entry(at path: [UInt8]) throws(BackupError) -> TreeEntry? {
        try folder(BytePath.folder(of: path))?.entry(named: FileName(bytes: BytePath.lastComponent(of: path)))
    }

    private func folder(_ path: [UInt8]) throws(BackupError) -> Directory? {
        if let directory = known.withLock({ $0[path] }) { return directory }
        let directory: Directory
        if path.isEmpty {
            directory = try repository.directory(root)
        } else {
            guard let entry = try entry(at: path), entry.kind == .directory else { return nil }
            directory = try repository.directory(of: entry)
        }
        known.withLock { known in
            if known.count >= Self.countLimit { known.removeAll() }
            known[path] = directory
        }
        return directory
    }

    func file(at path: [UInt8]) throws(BackupError) -> MediaFileFacts? {
        guard let entry = try entry(at: path), entry.kind == .file else { return nil }
        return Self.facts(of: entry, path)
    }

    func forEachFile(_ body: (MediaFileFacts) throws(BackupError) -> Void) throws(BackupError) {
        try forEachFile(in: repository.directory(root), [], body)
    }

    private func forEachFile(
        in directory: Directory, _ prefix: [UInt8], _ body: (MediaFileFacts) throws(BackupError) -> Void
    ) throws(BackupError) {
        for entry in directory.entries.sorted(by: {
            MediaOrder.precedes(($0.name, $0.kind == .directory), ($1.name, $1.kind == .directory))
        }) {
            let path = prefix + entry.name.bytes
            switch entry.kind {
            case .file: try body(Self.facts(of: entry, path))
            case .directory: try forEachFile(in: repository.directory(of: entry), path + [UInt8(ascii: "/")], body)
            case .symbolicLink: continue
            }
        }
    }

    private static func facts(of entry: TreeEntry, _ path: [UInt8]) -> MediaFileFacts {
        MediaFileFacts(
            path: path, size: entry.size, modificationTime: entry.modificationTime, checksums: entry.checksums)
    }

    func state() -> String? { root.content.fingerprint.hexadecimal }
}

/// Orders a folder's entries so that whole paths ascend by their bytes: a folder sorts as its name with a slash.
enum MediaOrder {
    static func precedes(_ left: (name: FileName, isFolder: Bool), _ right: (name: FileName, isFolder: Bool)) -> Bool {
        let slash: [UInt8] = [UInt8(ascii: "/")]
        let leftBytes = left.isFolder ? left.name.bytes + slash : left.name.bytes
        let rightBytes = right.isFolder ? right.name.bytes + slash : right.name.bytes
        return leftBytes.lexicographicallyPrecedes(rightBytes)
    }
}

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

/// The newest backup of any kind from this store; a new one shares most of its content. Parts of it that are unreadable are read from the app again.
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
