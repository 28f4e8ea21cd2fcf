import BackupCore
import SystemIO

/// Walks everything that snapshots reach: folders, content lists and the chunks of files. Shared parts are visited once.
///
/// Marks the chunks on the way as needed in the inventory's table, and says of each folder and file whether all of it can be
/// read.
final class TreeWalk {
    /// A problem with a tree itself.
    enum Problem {
        /// A referenced chunk is in no usable pack. `path`: the first file or folder that needs it.
        case missing(ChunkID, path: String)
        /// A folder, a list or a length is inconsistent; what is below it is unknown. `isReported`: a chunk of it was reported
        /// before.
        case structure(BackupError, isReported: Bool)
    }

    private let repository: Repository
    private(set) var inventory: PackInventory
    /// Called once for each problem. An error it throws ends the walk.
    private let onProblem: (Problem) throws(BackupError) -> Void
    /// The visited folders and lists, and whether something in them is damaged.
    private var directories: [SHA256Digest: Bool] = [:]
    private var lists: [ChunkID: Bool] = [:]
    private var missing: Set<ChunkID> = []
    /// Chunks that are in no readable pack, but could still be read.
    private var rescued: Set<ChunkID> = []
    private let usesUnlistedChunks: Bool
    private lazy var verifier = ChunkVerifier(repository)
    /// Whether the packs were already searched for a chunk that the catalog does not know. No pack that a snapshot needs can
    /// appear or disappear during a walk, so one search is enough, even if a pack with 65,536 chunks is lost.
    private var hasLookedThroughPacks = false

    /// - Parameter usesUnlistedChunks: whether a chunk counts that is in a pack without a readable index, if it can be read.
    init(
        _ repository: Repository, _ inventory: consuming PackInventory, usesUnlistedChunks: Bool = true,
        onProblem: @escaping (Problem) throws(BackupError) -> Void
    ) {
        self.repository = repository
        self.inventory = inventory
        self.usesUnlistedChunks = usesUnlistedChunks
        self.onProblem = onProblem
    }

    /// - Returns: whether anything of the snapshot cannot be read.
    func visit(_ snapshot: Snapshot) throws(BackupError) -> Bool {
        var cursor = TreeCursor(snapshot, in: repository)
        // Whether anything in the open folders is damaged; the first one stands for the snapshot.
        var isDamaged = [false]
        while true {
            let step: TreeCursor.Step?
            do throws(BackupError) {
                step = try cursor.next()
            } catch {
                let problem = Self.at(FileName(bytes: cursor.path).description, error)
                try onProblem(.structure(problem, isReported: isDamaged[isDamaged.count - 1]))
                isDamaged[isDamaged.count - 1] = true
                continue
            }
            switch step {
            case nil: return isDamaged[0]
            case .entry(let entry):
                var isEntryDamaged = entry.storedDirectory.flatMap { directories[Self.key($0)] }
                if isEntryDamaged != nil {
                    cursor.skipFolder()
                } else {
                    let isContentDamaged = try visit(entry.content, at: FileName(bytes: cursor.path).description)
                    if entry.kind == .directory { isDamaged.append(isContentDamaged) } else { isEntryDamaged = isContentDamaged }
                }
                if isEntryDamaged == true { isDamaged[isDamaged.count - 1] = true }
            case .end(let folder):
                let isFolderDamaged = isDamaged.removeLast()
                if let stored = folder.storedDirectory { directories[Self.key(stored)] = isFolderDamaged }
                if isFolderDamaged { isDamaged[isDamaged.count - 1] = true }
            }
        }
    }

    private static func key(_ stored: StoredDirectory) -> SHA256Digest {
        var writer = ByteWriter()
        stored.totals.encode(into: &writer)
        stored.content.encode(into: &writer)
        return SHA256Hasher.hash(writer.bytes)
    }

    /// - Returns: whether any byte of it cannot be read.
    private func visit(_ content: FileContent, at path: String, depth: Int = 0) throws(BackupError) -> Bool {
        var isDamaged = false
        for element in content.elements {
            switch element {
            case .literal: continue
            case .chunk(let id, let plainLength):
                if try !use(id, plainLength: plainLength, at: path) { isDamaged = true }
            case .list(let id, let plainLength):
                if try visitList(id, plainLength, at: path, depth: depth) { isDamaged = true }
            }
        }
        return isDamaged
    }

    private func visitList(_ id: ChunkID, _ plainLength: UInt64, at path: String, depth: Int) throws(BackupError) -> Bool {
        if let isDamaged = lists[id] { return isDamaged }
        var isDamaged = try !use(id, plainLength: nil, at: path)
        if isDamaged {
            let error = BackupError(.repositoryDamaged, "content list \(id) cannot be read")
            try onProblem(.structure(Self.at(path, error), isReported: true))
        } else {
            switch list(id, plainLength, depth: depth) {
            case .success(let list): isDamaged = try visit(list, at: path, depth: depth + 1)
            case .failure(let error):
                try onProblem(.structure(Self.at(path, error), isReported: false))
                isDamaged = true
            }
        }
        lists[id] = isDamaged
        return isDamaged
    }

    private func list(_ id: ChunkID, _ plainLength: UInt64, depth: Int) -> Result<FileContent, BackupError> {
        Result { () throws(BackupError) in
            guard depth < ContentList.depthLimit else {
                throw BackupError(.repositoryDamaged, "content lists are nested too deep: \(id)")
            }
            return try repository.resolver.open(.list(id, plainLength: plainLength))
        }
    }

    private static func at(_ path: String, _ error: BackupError) -> BackupError {
        error.with(nil, "\(path): \(error.message)")
    }

    /// Marks a chunk as needed, with its base, the base of that, and so on: a chunk that is used only as a base may itself be
    /// stored against another.
    /// - Returns: whether its bytes can be read.
    private func use(_ id: ChunkID, plainLength: UInt32?, at path: String) throws(BackupError) -> Bool {
        let key = CompactChunkIndex.Key(id)
        inventory.table.need(key)
        if let first = inventory.table.firstRow(of: key), !inventory.table.hasDuplicates(first) {
            return try use(row: first, id, plainLength: plainLength, at: path)
        }
        var isUsable = false
        for row in inventory.table.allRows(of: key) {
            if try use(row: row, id, plainLength: plainLength, at: path) { isUsable = true }
        }
        if isUsable || rescued.contains(id) { return true }
        // Known to be missing, or damaged in every pack: already reported.
        if missing.contains(id) || inventory.table.firstRow(of: key) != nil { return false }
        // The catalog may know chunks of a pack with a damaged index.
        if usesUnlistedChunks, let chunk = chunkInCatalog(id), (try? verifier.requireSound(chunk)) != nil {
            if let base = chunk.base { inventory.table.need(CompactChunkIndex.Key(base)) }
            rescued.insert(id)
            return true
        }
        missing.insert(id)
        try onProblem(.missing(id, path: path))
        return false
    }

    private func chunkInCatalog(_ id: ChunkID) -> StoredChunk? {
        if hasLookedThroughPacks { return try? repository.catalog.lookUp(id) }
        hasLookedThroughPacks = true
        return try? repository.catalog.locate([id]).first
    }

    private func use(row: Int, _ id: ChunkID, plainLength: UInt32?, at path: String) throws(BackupError) -> Bool {
        if let plainLength, inventory.table.rows[row].plainLength != plainLength {
            try onProblem(
                .structure(
                    Self.at(path, BackupError(.repositoryDamaged, "chunk \(id) does not have the length it should")),
                    isReported: false))
            return false
        }
        return inventory.table.isUsable(row)
    }
}

// MARK: - Naming what is damaged

extension TreeWalk {
    /// Calls `body` for every file and folder of a visited snapshot that cannot be read completely.
    func damagedFiles(of snapshot: Snapshot, _ body: (DamagedFile) -> Void) throws(BackupError) {
        guard directories[Self.key(snapshot.record.root)] == true else { return }
        var cursor = TreeCursor(snapshot.record.root, in: repository)
        func report(_ path: [UInt8], isFolder: Bool) {
            body(DamagedFile(snapshot: snapshot, path: FileName(bytes: path), isFolder: isFolder))
        }
        while let step = cursor.nextReadable({ report($1, isFolder: true) }) {
            guard case .entry(let entry) = step else { continue }
            if let stored = entry.storedDirectory {
                if directories[Self.key(stored)] != true { cursor.skipFolder() }
            } else if try visit(entry.content, at: "") {
                report(cursor.path, isFolder: false)
            }
        }
    }
}

extension Repository {
    /// Undeletes a removed snapshot.
    /// - Parameters:
    ///   - name: its new name; `nil` to keep the old one.
    ///   - isPinned: whether it is pinned from the first moment on.
    /// - Throws: `busy` while a prune runs; `notFound`; `alreadyExists` when another snapshot has the name.
    /// - Returns: the snapshot, and what the repository has lost of it: an older program, which does not know removed snapshots,
    ///   may have pruned its data.
    public func bringBackSnapshot(
        _ id: SnapshotID, as name: FileName? = nil, pinned isPinned: Bool = false
    ) throws(BackupError) -> (snapshot: Snapshot, problems: [BackupError]) {
        let lock = try RepositoryLock(layout, .keepingPacks, operation: "undelete")
        defer { withExtendedLifetime(lock) {} }
        try catalog.reconcile()
        try snapshotStore.bringBack(id, as: name, pinned: isPinned)
        guard let snapshot = snapshotStore.list[id] else {
            throw BackupError(.notFound, "there is no such snapshot", path: layout.snapshotPath(of: id))
        }
        var problems: [BackupError] = []
        let walk = TreeWalk(self, try PackInventory(catalog)) { (problem) throws(BackupError) in
            switch problem {
            case .missing(let chunk, _): problems.append(BackupError(.repositoryDamaged, "chunk \(chunk) is missing"))
            case .structure(let error, let isReported): if !isReported { problems.append(error) }
            }
        }
        _ = try walk.visit(snapshot)
        return (snapshot, problems)
    }
}
