import BackupCore
import ObjectStorage
import SystemIO

/// What an object of a mirror is, by its name. The names are those of the repository's files, so that a plain copy of all objects
/// is a repository.
enum MirrorObject: Hashable {
    case configuration, configurationCopy, key, keyCopy, register, readme
    /// Only a repository has it, no copy: see `RepositoryLayout.primaryMark`. It tells the two apart.
    case primary
    case pack(PackID)
    case snapshot(SnapshotID)
    case label(SnapshotID)
    case source(SourceID)
    /// The record of a removed snapshot.
    case removed(SnapshotID)
    /// A list of packs that a prune will remove.
    case doomed(String)
    /// Copies of the indexes of many packs.
    case indexBatch(IndexBatchID)
    /// What a repair has set aside. Only a repository has it, no copy.
    case damaged(String)

    /// The names of all packs begin with it.
    static let packsPrefix = "packs/"
    /// It comes after the names of all packs, and before those of records.
    static let afterPacks = "packs0"

    /// The names of all lists of packs that a prune will remove begin with it.
    static let doomedPrefix = "doomed/"

    /// Whether there is such an object only where backups are removed.
    var showsRemovals: Bool {
        switch self {
        case .removed, .doomed: true
        default: false
        }
    }

    /// The SHA-256 of its bytes, for a small object that is named after them.
    private var sha256: SHA256Digest? {
        switch self {
        case .snapshot(let id), .removed(let id): id.digest
        case .indexBatch(let id): id.digest
        default: nil
        }
    }

    /// The bytes and the version in a storage; `nil` if the object certainly does not exist. What does not fit the name is read
    /// once more: it may have changed on its way, and only what is the same twice is damaged there.
    func contents(
        in storage: any ObjectStorage, limitBytes: Int
    ) throws(BackupError) -> (bytes: [UInt8], version: ObjectVersion)? {
        let found = try storage.contents(of: name, limitBytes: limitBytes)
        guard let found, let sha256, SHA256Hasher.hash(found.bytes) != sha256 else { return found }
        return try storage.contents(of: name, limitBytes: limitBytes)
    }

    /// - Returns: `nil` for an object that a mirror does not have.
    init?(_ name: ObjectName) {
        let parts = name.text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        func digest(_ suffix: String) -> SHA256Digest? {
            parts.last.flatMap { RepositoryLayout.digest(in: FileName($0), extension: suffix) }
        }
        switch (parts.first, parts.count) {
        case ("config", 1): self = .configuration
        case ("config.copy", 1): self = .configurationCopy
        case ("key", 1): self = .key
        case ("key.copy", 1): self = .keyCopy
        case ("register", 1): self = .register
        case ("README.txt", 1): self = .readme
        case ("primary", 1): self = .primary
        case ("packs", 3):
            guard let digest = digest(RepositoryLayout.packExtension), digest.hexadecimal.hasPrefix(parts[1]), parts[1].count == 2
            else { return nil }
            self = .pack(PackID(digest))
        case ("snapshots", 2):
            guard let digest = digest(RepositoryLayout.snapshotExtension) else { return nil }
            self = .snapshot(SnapshotID(digest))
        case ("labels", 2):
            guard let digest = digest(RepositoryLayout.labelExtension) else { return nil }
            self = .label(SnapshotID(digest))
        case ("sources", 2):
            guard let id = RepositoryLayout.source(in: FileName(parts[1])) else { return nil }
            self = .source(id)
        case ("removed", 2):
            guard let digest = digest(RepositoryLayout.snapshotExtension) else { return nil }
            self = .removed(SnapshotID(digest))
        case ("doomed", 2):
            guard parts[1].hasSuffix(DoomedPacks.nameExtension) else { return nil }
            self = .doomed(parts[1])
        case ("indexes", 2):
            guard let digest = digest(RepositoryLayout.indexBatchExtension) else { return nil }
            self = .indexBatch(IndexBatchID(digest))
        case ("damaged", 2): self = .damaged(parts[1])
        default: return nil
        }
    }

    /// The file's place in a repository; the object's name is the same, below the storage's prefix.
    func path(in layout: RepositoryLayout) -> String {
        switch self {
        case .configuration: layout.config
        case .configurationCopy: layout.configCopy
        case .key: layout.key
        case .keyCopy: layout.keyCopy
        case .register: layout.register
        case .readme: layout.readme
        case .primary: layout.primaryMark
        case .pack(let id): layout.packPath(of: id)
        case .snapshot(let id): layout.snapshotPath(of: id)
        case .label(let id): layout.labelPath(of: id)
        case .source(let id): layout.sourcePath(of: id)
        case .removed(let id): layout.removedPath(of: id)
        case .doomed(let name): "\(layout.doomed)/\(name)"
        case .indexBatch(let id): layout.indexBatchPath(of: id)
        case .damaged(let name): "\(layout.damaged)/\(name)"
        }
    }

    var name: ObjectName {
        let path = path(in: RepositoryLayout(path: ""))
        guard let name = ObjectName(String(path.dropFirst())) else { preconditionFailure("\(path) is not a valid name") }
        return name
    }
}
