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

    /// The repository's folder.
    public let path: String
    /// 32 hexadecimal digits, unique to this repository.
    public let id: String

    /// How long a query of the mount waits for this repository's storage.
    public let patience = StoragePatience.ofMount

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
        let places = CatalogPlaces(
            layout, repositoryID: configuration.repositoryID, isEncrypted: configuration.isEncrypted, home: catalogHome)
        catalog = try Catalog(
            layout: layout, repositoryID: configuration.repositoryID, places: places, protection: protection)
        snapshotStore = try SnapshotStore(layout: layout, protection: protection)
        chunkReader = ChunkReader(packs: PackFiles(layout: layout), catalog: catalog, protection: protection)
    }
}

// MARK: - Making and opening

extension Repository {
    /// Creates a repository in a missing or empty folder. The `config` file is written last: after a crash before it, `create` can be called again.
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
            try OwnerOnly.makeFolder(path)
        }
        // Two processes may try this at the same time.
        let lock = try WaitingLock.acquire(path: layout.writerLock)
        defer { withExtendedLifetime(lock) {} }
        if try FileSystem.exists(layout.config) { throw Self.exists(path) }
        try requireUnused(layout)
        for folder in layout.folders { try OwnerOnly.makeFolder(folder) }
        try FileSystem.synchronizeDirectory(path)
        try synchronizeAncestors(of: path)
        let configuration = RepositoryConfiguration(
            repositoryID: RandomToken.make(), chunker: password == nil ? .standard : .standardEncrypted)
        var keys: RepositoryKeys?
        // They are left by an interrupted creation, or the rest of a repository was lost. In the latter case only they can decrypt what may be recovered of it.
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
        try OwnerOnly.publish(configuration.encode(), to: layout.config, temporaryFolder: layout.temporary)
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
        let layout = RepositoryLayout(path: FileSystem.absolutePath(path))
        let files = ConfigurationFiles(layout: layout)
        var reading = try files.read()
        // Programs that copy repositories may leave out empty folders. On read-only storage they are not needed.
        for folder in layout.folders {
            if try !FileSystem.exists(folder) { try? OwnerOnly.makeFolder(folder) }
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
        let catalog = CatalogPlace(folder: layout.path, isBesidePacks: true)
        let leftovers = [layout.writerLock, layout.namesLock, catalog.lock, layout.key, layout.keyCopy]
        let files = Set(leftovers.map { FileName(FileSystem.lastComponent($0)) })
        let folder = try DirectoryReader(path: layout.path)
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

// MARK: - Snapshots

extension Repository {
    /// Picks up changes of the list of snapshots by other processes. Cheap enough to be called before every use of the list.
    /// - Returns: whether the list has changed.
    @discardableResult
    public func refresh() throws(BackupError) -> Bool { try snapshotStore.refresh() }

    /// Watches for changes of the list of snapshots by this or another process of this machine; `refresh` then sees them.
    /// - Parameter onChange: called on its own thread, also for changes that leave the list as it was.
    public func watchSnapshots(_ onChange: @escaping @Sendable () -> Void) throws(BackupError) -> FolderWatch {
        try FolderWatch(paths: [layout.snapshots, layout.labels], onChange: onChange)
    }

    /// The snapshots, oldest first, those with equal times by name; as of the last `refresh` or change.
    public func snapshots(kind: SnapshotKind? = nil) -> [Snapshot] {
        let all = snapshotStore.list.snapshots
        guard let kind else { return all }
        return all.filter { $0.kind == kind }
    }

    public func snapshot(named name: FileName) -> Snapshot? { snapshotStore.list[name] }

    public func snapshot(id: SnapshotID) -> Snapshot? { snapshotStore.list[id] }

    /// What cannot be read completely: config, snapshot records, labels, packs. Everything else is unharmed.
    public func damages() -> [BackupError] {
        // Opening the repository does not check the packs' lengths.
        try? catalog.reconcile()
        let packs = catalog.damagedPacks.sorted { $0.key < $1.key }
        let config = configurationReading.damage.map { [$0] } ?? []
        return config + snapshotStore.list.damages + packs.map { $0.value.at(layout.packPath(of: $0.key)) }
    }

    /// Why snapshot records cannot be read; the snapshots of these records are not listed.
    public var recordDamages: [BackupError] {
        snapshotStore.list.damages.filter { $0.path?.hasPrefix(layout.snapshots + "/") == true }
    }

    /// Snapshots with missing labels: they count as pinned, and have their first names.
    public func snapshotsWithoutLabel() -> [Snapshot] {
        let list = snapshotStore.list
        return list.missingLabels.compactMap { list[$0] }
    }

    /// Why it is unknown whether labels are missing; `nil` if it is known.
    public var registerError: BackupError? {
        guard snapshotStore.list.registerError != nil else { return nil }
        // The register may have been copied back, or there was no space for it when the first snapshot appeared.
        do throws(BackupError) { try refresh() } catch { return error }
        return snapshotStore.list.registerError
    }

    /// Removes a snapshot from the repository, durably. A prune frees its space later; until then a new backup of the same data reuses its chunks.
    /// - Throws: `notFound`.
    public func removeSnapshot(_ id: SnapshotID) throws(BackupError) { try snapshotStore.remove(id) }

    /// The same for several snapshots, scanning the folders once.
    /// - Throws: `notFound` when one does not exist; none is removed then.
    public func removeSnapshots(_ ids: [SnapshotID]) throws(BackupError) { try snapshotStore.remove(ids) }

    /// - Throws: `notFound`, `alreadyExists`, `invalidArgument` for a name that is not a path component.
    public func renameSnapshot(_ id: SnapshotID, to name: FileName) throws(BackupError) {
        try snapshotStore.changeLabel(id) { $0.name = name }
    }

    /// - Throws: `notFound`.
    public func setPinned(_ id: SnapshotID, _ isPinned: Bool) throws(BackupError) {
        try snapshotStore.changeLabel(id) { $0.isPinned = isPinned }
    }

    /// Records when the snapshot was last proved to be restorable. A no-op if its label
    /// is missing or unreadable: a label with less information must not replace it.
    /// - Throws: `notFound`.
    public func setVerified(_ id: SnapshotID, at time: Timestamp) throws(BackupError) {
        guard snapshot(id: id) == nil || snapshotStore.hasKnownLabel(id) else { return }
        try snapshotStore.changeLabel(id) { $0.verifiedAt = time }
    }
}

extension Repository {
    /// Changes the tags of a snapshot atomically.
    /// - Throws: `notFound`, `invalidArgument` for an invalid tag or too many of them.
    public func changeTags(_ id: SnapshotID, _ change: (inout Set<String>) -> Void) throws(BackupError) {
        let first = snapshotStore.list[id]?.record.tags ?? []
        try snapshotStore.changeLabel(id) { (label) throws(BackupError) in
            let before = Set(label.tags ?? first)
            var tags = before
            change(&tags)
            for tag in tags.subtracting(before) { try SnapshotTag.check(tag) }
            guard tags.count <= SnapshotTag.countLimit else {
                throw BackupError(
                    .invalidArgument, "a backup has \(SnapshotTag.countLimit) tags at most", remedy: "Remove some tags.")
            }
            label.tags = tags.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
    }
}

// MARK: - Folders and files

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

    /// The places of a content's bytes, from which `ExtentTable` and the archive layouts are built.
    /// - Throws: `repositoryDamaged` when a list is damaged or a chunk is missing.
    public func pieces(of content: FileContent) throws(BackupError) -> [ContentPiece] {
        try pieces(of: try resolver.flatten(content))
    }

    /// The same piece by piece, in constant memory.
    /// - Throws: as `pieces`.
    public func visitPieces(of content: FileContent, _ body: (ContentPiece) -> Void) throws(BackupError) {
        var walk = ContentWalk(content, resolver)
        var elements: [FileContent.Element] = []
        var isAtEnd = false
        while !isAtEnd {
            if let element = try walk.next() { elements.append(element) } else { isAtEnd = true }
            if isAtEnd || elements.count == 4_096 {
                for piece in try pieces(of: elements) { body(piece) }
                elements.removeAll(keepingCapacity: true)
            }
        }
    }

    /// The same for many contents, at a fraction of the cost.
    public func pieces(of contents: [FileContent]) throws(BackupError) -> [[ContentPiece]] {
        let resolver = resolver
        var elements: [FileContent.Element] = []
        var counts: [Int] = []
        for content in contents {
            let own = try resolver.flatten(content)
            elements += own
            counts.append(own.count)
        }
        var all = try pieces(of: elements)[...]
        return counts.map { count in
            defer { all.removeFirst(count) }
            return Array(all.prefix(count))
        }
    }

    func pieces(of elements: [FileContent.Element]) throws(BackupError) -> [ContentPiece] {
        var ids: [ChunkID] = []
        var lengths: [UInt32] = []
        for case .chunk(let id, let plainLength) in elements {
            ids.append(id)
            lengths.append(plainLength)
        }
        var chunks = ids.isEmpty ? [][...] : try catalog.locate(ids)[...]
        // In that case the catalog may be wrong.
        if zip(chunks, lengths).contains(where: { $0.plainLength != $1 }), catalog.mayInquire(), try mendCatalog() {
            chunks = try catalog.locate(ids)[...]
        }
        var pieces: [ContentPiece] = []
        pieces.reserveCapacity(elements.count)
        for element in elements {
            switch element {
            case .literal(let bytes):
                pieces.append(.literal(bytes))
            case .chunk(let id, let plainLength):
                guard let chunk = chunks.popFirst(), chunk.plainLength == plainLength else {
                    throw BackupError(.repositoryDamaged, "chunk \(id) does not have the length it should")
                }
                pieces.append(.chunk(chunk))
            case .list(let id, _):
                throw BackupError(.repositoryDamaged, "content list \(id) was not followed")
            }
        }
        return pieces
    }

    /// A file's extents, for `read(_:at:into:)`.
    public func extents(of content: FileContent) throws(BackupError) -> ExtentTable {
        ExtentTable(plainContent: try pieces(of: content))
    }

    /// A small file or structure as a whole.
    /// - Throws: `tooLarge` before anything is read.
    public func bytes(of content: FileContent, limitBytes: Int) throws(BackupError) -> [UInt8] {
        guard content.size <= UInt64(limitBytes) else {
            throw BackupError(.tooLarge, "a content has \(content.size) bytes, more than \(limitBytes)")
        }
        let table = try extents(of: content)
        guard table.size == content.size else {
            throw BackupError(.repositoryDamaged, "a content does not have the length it should")
        }
        var bytes = [UInt8](repeating: 0, count: Int(content.size))
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try read(table, at: 0, into: buffer)
        }
        guard count == bytes.count else { throw BackupError(.repositoryDamaged, "a content ends too early") }
        return bytes
    }

    /// All plain bytes of one chunk.
    func plainBytes(of id: ChunkID) throws(BackupError) -> [UInt8] {
        guard let chunk = try catalog.locate([id]).first else {
            throw BackupError(.repositoryDamaged, "chunk \(id) is in no pack of the repository")
        }
        return try chunkReader.plainBytes(chunk)
    }
}

// MARK: - Packs and sizes

extension Repository {
    /// The existing packs, sorted.
    public func packs() throws(BackupError) -> [PackID] { try PackFolder.names(layout).sorted() }

    public func totals() throws(BackupError) -> RepositoryTotals {
        do throws(BackupError) {
            return try catalog.totals()
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            try catalog.rebuild()
            return try catalog.totals()
        }
    }
}
