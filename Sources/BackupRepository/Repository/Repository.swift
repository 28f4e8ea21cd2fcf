import BackupCore
import Synchronization
import SystemIO

/// A repository: snapshots of file trees, deduplicated, in a folder.
///
/// Reading is thread-safe, while other processes add, rename and remove snapshots. Writing
/// goes through a `BackupWriter`, of which only one can exist at a time across all processes.
public final class Repository: Sendable {
    /// Approximate size of the cache for decoded directory objects, in bytes.
    private static let directoryCacheBytes = 8 << 20
    /// Derived files whose checksums stay in memory.
    private static let derivedChecksumCount = 256

    /// The repository's folder.
    public let path: String
    /// 32 hexadecimal digits, unique to this repository.
    public let id: String

    /// How long a query of the mount waits for this repository's storage.
    public let patience = StorageTimeout.ofMount

    let layout: RepositoryLayout
    let configuration: RepositoryConfiguration
    /// The contents of `config` and its copy.
    let configurationReading: ConfigurationFiles.Reading
    let protection: RepositoryProtection
    let gear: GearTable
    let catalog: Catalog
    let snapshotStore: SnapshotStore
    let chunkReader: ChunkReader
    private let directories = Mutex(BoundedCache<FileContent, Directory>(costLimit: directoryCacheBytes))
    /// By the fingerprint of their content: where the catalog cannot be written, they are known only here.
    let derivedChecksums = Mutex(BoundedCache<SHA256Digest, Checksums>(costLimit: derivedChecksumCount))
    let knownNeeds = Mutex(KnownNeeds())

    /// - Parameter keys: of an encrypted repository.
    private init(
        layout: RepositoryLayout, _ reading: ConfigurationFiles.Reading, keys: RepositoryKeys?, catalogHome: CatalogHome
    ) throws(BackupError) {
        let configuration = reading.configuration
        configurationReading = reading
        path = layout.path
        id = configuration.repositoryID
        let layout = layout.opened(configuration)
        self.layout = layout
        self.configuration = configuration
        protection = RepositoryProtection(keys: keys)
        gear = GearTable(seed: configuration.chunker.gearSeed ?? keys?.gearSeed ?? 0)
        let places = CatalogLocations(
            layout, repositoryID: configuration.repositoryID, isEncrypted: configuration.isEncrypted, home: catalogHome)
        catalog = try Catalog(
            layout: layout, repositoryID: configuration.repositoryID, places: places, protection: protection)
        snapshotStore = try SnapshotStore(layout: layout, protection: protection)
        chunkReader = ChunkReader(packs: PackFiles(layout: layout), catalog: catalog, protection: protection)
    }
}

// MARK: - Making and opening

extension Repository {
    /// Creates a repository in a missing or empty folder. The `config` file is written last: after a crash before it, `create`
    /// can be called again.
    /// - Parameter password: creates an encrypted repository that this password opens; a forgotten password cannot be recovered.
    /// - Throws: `alreadyExists` when there is a repository; `notEmpty` when there is anything else.
    public static func create(
        at path: String, password: SecretBytes? = nil, catalogHome: CatalogHome = .cache
    ) throws(BackupError) -> Repository {
        try create(at: path, password: password, catalogHome: catalogHome, cost: .standard)
    }

    /// - Parameter cost: the cost of trying a password.
    static func create(
        at path: String, password: SecretBytes?, catalogHome: CatalogHome = .cache, cost: Scrypt
    ) throws(BackupError) -> Repository {
        let path = FileSystem.absolutePath(path)
        let layout = RepositoryLayout(path: path)
        if try FileSystem.exists(layout.config) { throw Self.exists(path) }
        if try FileSystem.exists(path) {
            try requireUnused(layout)
        } else {
            try FileSystem.makeDirectories(FileSystem.parentPath(path))
            try PrivateFile.makeFolder(path)
        }
        // Two processes may try this at the same time.
        let lock = try WaitingLock.acquire(path: layout.writerLock)
        defer { withExtendedLifetime(lock) {} }
        if try FileSystem.exists(layout.config) { throw Self.exists(path) }
        try requireUnused(layout)
        for folder in layout.folders { try PrivateFile.makeFolder(folder) }
        try FileSystem.synchronizeDirectory(path)
        try synchronizeAncestors(of: path)
        let configuration = RepositoryConfiguration(
            repositoryID: RandomToken.make(), chunker: password == nil ? .standard : .standardEncrypted)
        var keys: RepositoryKeys?
        // They are left by an interrupted creation, or the rest of a repository was lost. In the latter case only they can
        // decrypt what may be recovered of it.
        let damaged = DamagedFolder(layout: layout) { () throws(BackupError) in }
        for key in [layout.key, layout.keyCopy] {
            if try FileSystem.exists(key) { try damaged.setAside(key) }
        }
        if let password {
            let masterKey = try SecretBytes.random(count: KeyFile.masterKeyByteCount)
            keys = try RepositoryKeys(master: masterKey, repositoryID: configuration.repositoryID)
            try KeyStore(layout: layout, repositoryID: configuration.repositoryID).create(
                KeyFile(wrapping: masterKey, password: password, repositoryID: configuration.repositoryID, cost: cost))
        }
        try PrivateFile.publish(configuration.encode(), to: layout.config, temporaryFolder: layout.temporary)
        let files = ConfigurationFiles(layout: layout)
        try files.write(ConfigurationCopy(of: configuration.encode(), keys: keys))
        let repository = try Repository(layout: layout, files.read(), keys: keys, catalogHome: catalogHome)
        // If there is no space for it, the first backup creates it.
        try? repository.snapshotStore.makeFirstRegister { true }
        RepositoryReadme.add(layout)
        return repository
    }

    /// The process that created the folders above may have died before their names were durable.
    private static func synchronizeAncestors(of path: String) throws(BackupError) {
        let device = try FileSystem.status(path).device
        var folder = path
        while folder != "/" {
            folder = FileSystem.parentPath(folder)
            guard FileSystem.statusIfPresent(folder)?.device == device else { return }
            do throws(BackupError) {
                try FileSystem.synchronizeDirectory(folder)
            } catch {
                // A folder that this user may not read belongs to another user and existed before.
                guard error.code == .accessDenied else { throw error }
            }
        }
    }

    /// Opens a repository. A missing, damaged or foreign catalog is rebuilt from the packs.
    /// - Parameters:
    ///   - secret: called for the password or key, only if the repository is encrypted.
    ///   - catalogHome: the place for a catalog that must not be beside the packs.
    /// - Throws: `noRepository`; `unsupportedVersion` or `repositoryDamaged` for the config
    ///   or the key file; `wrongPassword`, also without a `secret`; errors of `secret`.
    public static func open(
        at path: String, secret: RepositorySecretSource? = nil, catalogHome: CatalogHome = .cache
    ) throws(BackupError) -> Repository {
        // A mount leaves the folder it was started in.
        try open(RepositoryLayout(path: FileSystem.absolutePath(path)), secret: secret, catalogHome: catalogHome)
    }

    static func open(
        _ layout: RepositoryLayout, secret: RepositorySecretSource?, catalogHome: CatalogHome
    ) throws(BackupError) -> Repository {
        let files = ConfigurationFiles(layout: layout)
        var reading = try files.read()
        // Programs that copy repositories may leave out empty folders. On read-only storage they are not needed.
        for folder in layout.folders {
            if try !FileSystem.exists(folder) { try? PrivateFile.makeFolder(folder) }
        }
        let keys = try keys(layout, reading.configuration, secret)
        if let keys { reading = try files.authenticated(reading, keys) }
        return try Repository(layout: layout, reading, keys: keys, catalogHome: catalogHome)
    }

    /// Whether there is a repository in the folder; it may still be damaged or of a later version.
    /// - Throws: when the answer is unknown.
    public static func exists(at path: String) throws(BackupError) -> Bool {
        let layout = RepositoryLayout(path: path)
        if try FileSystem.exists(layout.config) { return true }
        return try FileSystem.exists(layout.configCopy)
    }

    private static func exists(_ path: String) -> BackupError {
        BackupError(
            .alreadyExists, "there is a repository here already", path: path, remedy: "Open it, or choose another folder.")
    }

    /// Allows the leftovers of an interrupted `create`: empty folders, locks, unused keys, and temporary files.
    private static func requireUnused(_ layout: RepositoryLayout) throws(BackupError) {
        let folders = Set(layout.folders.map { FileName(FileSystem.lastComponent($0)) })
        let catalog = CatalogLocation(folder: layout.path, isBesidePacks: true)
        let leftovers = [layout.writerLock, layout.namesLock, catalog.lock, layout.key, layout.keyCopy]
        let files = Set(leftovers.map { FileName(FileSystem.lastComponent($0)) })
        let folder = try DirectoryHandle(path: layout.path)
        for name in try folder.names() where !files.contains(name) {
            var isLeftover = false
            if folders.contains(name), try folder.status(name).kind == .directory {
                let isEmpty = try folder.openDirectory(name).names().isEmpty
                isLeftover = isEmpty || name == "tmp"
            }
            guard isLeftover else {
                throw BackupError(
                    .notEmpty, "the folder holds something else: “\(name)”", path: layout.path,
                    remedy: "Choose an empty folder for the repository.")
            }
        }
    }
}

// MARK: - Repositories elsewhere

extension Repository {
    /// Whether the repository lies in an object storage, and is read through a cache: see `RemoteRepository`.
    public var isRemote: Bool { layout.packSource != nil }

    /// Whether nothing in it can be changed from here: it is a copy.
    public var isReadOnlyCopy: Bool { layout.packSource != nil && layout.upstream == nil }

    /// Where the repository is, for messages: the path of its folder, or the address of its storage.
    public var location: String { layout.packSource?.location ?? path }
}

// MARK: - Folders

extension Repository {
    /// - Throws: `repositoryDamaged`.
    public func rootDirectory(of snapshot: Snapshot) throws(BackupError) -> Directory {
        try directory(snapshot.record.root)
    }

    /// - Throws: `notADirectory`, `repositoryDamaged`.
    public func directory(of entry: TreeEntry) throws(BackupError) -> Directory {
        guard let stored = entry.storedDirectory else {
            throw BackupError(.notADirectory, "“\(MessageText.name(entry.name.bytes))” is not a folder")
        }
        return try directory(stored)
    }

    /// The same by its content and totals; recently used folders are cached.
    /// - Throws: `repositoryDamaged`.
    public func directory(_ stored: StoredDirectory) throws(BackupError) -> Directory {
        if let known = directories.withLock({ $0.value(for: stored.content) }), known.totals == stored.totals { return known }
        let directory = try Directory(decoding: try bytes(of: stored.content, limitBytes: Directory.byteCountLimit))
        guard directory.totals == stored.totals else {
            throw BackupError(.repositoryDamaged, "a folder's totals are not those that the folder above it has")
        }
        let cost = Int(stored.content.size) * 3
        directories.withLock { $0.insert(directory, for: stored.content, cost: cost) }
        return directory
    }
}

// MARK: - Packs and their catalog

extension Repository {
    /// The existing packs, sorted.
    public func packs() throws(BackupError) -> [PackID] { try PackFolder.names(layout).sorted() }

    /// What the repository holds, according to its catalog, which is rebuilt first if it is damaged.
    public func totals() throws(BackupError) -> RepositoryTotals {
        do throws(BackupError) {
            return try catalog.totals()
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            try catalog.rebuild()
            return try catalog.totals()
        }
    }

    /// A pack's index, from the pack or from a copy of it.
    func packIndex(of pack: PackID) throws(BackupError) -> PackIndex {
        try PackIndex.read(pack, in: layout, protection)
    }

    /// The index that is in the pack itself.
    func readPackIndex(of pack: PackID) throws(BackupError) -> PackIndex {
        try PackIndex.read(layout.openPack(pack), pack: pack, protection: protection)
    }

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
        let inventory = try PackInventory(catalog)
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

// MARK: - Locks

extension Repository {
    /// The current holders of locks of the repository, and the holders whose notes are stale.
    public func lockHolders() throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        try layout.lockNotes.sortNotes { _ in }
    }

    /// Removes stale notes; others stay. Stale notes would expire by themselves.
    /// - Returns: the holders that stay, and those whose notes were removed.
    public func unlock() throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        try layout.lockNotes.sortNotes { (note) throws(BackupError) in try layout.lockNotes.remove(note) }
    }
}
