import BackupCore
import SystemIO

/// What the program above the repository knows of snapshots, for copying them.
public struct CopyRules: Sendable {
    /// How a backup cuts the file at a path of a snapshot, with these first bytes: at least 100, if the file has them.
    let policy: @Sendable (_ path: [UInt8], _ start: [UInt8]) -> ChunkingPolicy
    /// The exact size of archive.zip in bytes, of the folder that a snapshot has in the target, and the attributes that go with
    /// it.
    let archive: @Sendable (_ original: Snapshot, Directory, Repository) throws(BackupError) -> Archive

    /// The size of a snapshot's archive, which depends on how chunks are stored.
    public struct Archive: Sendable {
        let sizeBytes: UInt64
        let attributes: [String: String]

        public init(sizeBytes: UInt64, attributes: [String: String]) {
            self.sizeBytes = sizeBytes
            self.attributes = attributes
        }
    }

    public init(
        policy: @escaping @Sendable (_ path: [UInt8], _ start: [UInt8]) -> ChunkingPolicy,
        archive: @escaping @Sendable (_ original: Snapshot, Directory, Repository) throws(BackupError) -> Archive
    ) {
        self.policy = policy
        self.archive = archive
    }
}

/// Copies snapshots from one repository into another one, with their names, times, attributes, tags and pins. The mark of a
/// verification is not copied, since other bytes were verified.
///
/// Each snapshot is written like a backup: its record last, so that a crash leaves nothing but packs that the next copy uses. It
/// names its original in an attribute, by which later copies in either direction recognise it. What the target has is not stored
/// again.
///
/// Between repositories without encryption that cut files alike, chunks are copied as they are stored. If one of them is
/// encrypted, and both cut files into pieces of the same lengths, each chunk is stored in its form under the target's name. Else
/// files are cut again.
public struct SnapshotCopy {
    /// What happened to one snapshot.
    public struct Result: Sendable {
        /// What happened to it.
        public enum Outcome: Sendable {
            /// The copy, and the growth of the target, without the packs' indexes.
            case copied(Snapshot, storedBytes: UInt64)
            /// The target had it, or a copy of it.
            case isThere(Snapshot)
            /// It was removed from the target, and is not copied again.
            case wasRemoved
            /// It cannot be read; the target has nothing of it.
            case failed(BackupError)
        }

        /// In the source.
        public let snapshot: Snapshot
        public let outcome: Outcome
    }

    /// A snapshot of the source, and what is to be done with it.
    public struct Item: Sendable {
        public let snapshot: Snapshot
        public let verdict: CopyVerdict

        public init(snapshot: Snapshot, verdict: CopyVerdict) {
            self.snapshot = snapshot
            self.verdict = verdict
        }
    }

    static let operation = "copy-snapshots"

    private let source: Repository
    private let target: Repository
    private let rules: CopyRules
    private let packSizeBytes: UInt64

    /// - Throws: `usage` when both are the same repository, or one is a copy of the other.
    public init(from source: Repository, to target: Repository, _ rules: CopyRules) throws(BackupError) {
        try self.init(from: source, to: target, rules, packSizeBytes: OpenPack.standardSizeBytes)
    }

    /// - Parameter packSizeBytes: of the target's new packs.
    init(
        from source: Repository, to target: Repository, _ rules: CopyRules, packSizeBytes: UInt64
    ) throws(BackupError) {
        guard source.id != target.id else {
            throw BackupError(
                .usage, "this is the repository that the backups are in, or a copy of it: nothing was copied",
                path: target.location,
                remedy: "Name another repository. To keep a second copy of this one, add it with: backupfs remote add NAME URL")
        }
        self.source = source
        self.target = target
        self.rules = rules
        self.packSizeBytes = packSizeBytes
    }

    /// What a copy would do. Changes nothing.
    /// - Parameters:
    ///   - snapshots: of the source.
    ///   - areNamed: whether the user has named them: then those are copied as well that were removed from the target.
    /// - Returns: the snapshots, oldest first.
    public func plan(_ snapshots: [Snapshot], areNamed: Bool) throws(BackupError) -> [Item] {
        try target.refresh()
        let catalog = try CopyCatalog(target)
        return snapshots.sorted(by: Snapshot.precedes).map {
            Item(snapshot: $0, verdict: catalog.verdict(on: $0, isNamed: areNamed))
        }
    }

    /// - Parameter didEnd: called when a snapshot is done.
    /// - Throws: the first error that concerns more than one snapshot; those that were copied before it stay.
    public func run(
        _ items: [Item], progress: ProgressHandler?, didEnd: (Result) -> Void
    ) throws(BackupError) {
        // No prune may remove what is being read, or what the target was found to have.
        let sourceLock = try RepositoryLock(source.layout, .keepingPacks, operation: Self.operation)
        defer { withExtendedLifetime(sourceLock) {} }
        let targetLock = try RepositoryLock(target.layout, .keepingPacks, operation: Self.operation)
        defer { withExtendedLifetime(targetLock) {} }
        try source.refresh()
        var wanted: [Snapshot] = []
        for item in items { if case .copy = item.verdict { wanted.append(item.snapshot) } }
        let copyProgress = CopyProgress(of: wanted, progress)
        let known = method == .asStored ? nil : try CopiedContents()
        var noted: Set<SnapshotID> = []
        for item in items {
            let outcome: Result.Outcome
            switch item.verdict {
            case .isThere(let copy): outcome = .isThere(copy)
            case .wasRemoved: outcome = .wasRemoved
            case .copy:
                copyProgress.begin(item.snapshot)
                outcome = try copy(item.snapshot, known, &noted, copyProgress)
                if case .failed = outcome {
                    // A disk that is gone, or a lock that was lost, is no damage of one snapshot.
                    try source.layout.requireOpened()
                    try sourceLock.requireHeld()
                }
                copyProgress.end(item.snapshot)
            }
            didEnd(Result(snapshot: item.snapshot, outcome: outcome))
        }
    }

    // MARK: - One snapshot

    private enum Method {
        case asStored, renamingChunks, cuttingAgain
    }

    private var method: Method {
        let (own, other) = (source.configuration, target.configuration)
        guard own.isEncrypted || other.isEncrypted else { return own.chunker == other.chunker ? .asStored : .cuttingAgain }
        return own.chunker.hasLengths(of: other.chunker) ? .renamingChunks : .cuttingAgain
    }

    /// - Parameter noted: the snapshots whose parts `known` has.
    private func copy(
        _ snapshot: Snapshot, _ known: CopiedContents?, _ noted: inout Set<SnapshotID>, _ progress: CopyProgress
    ) throws(BackupError) -> Result.Outcome {
        let writer = try target.makeWriter(packSizeBytes: packSizeBytes, operation: Self.operation)
        let reading = SourceReading()
        do throws(BackupError) {
            // Another process may have copied it, or its predecessor.
            let catalog = try CopyCatalog(target)
            if let copy = catalog.copy(of: snapshot) {
                writer.abandon()
                return .isThere(copy)
            }
            let before = predecessor(of: snapshot, catalog)
            if let known, let before, noted.insert(before.original.id).inserted {
                try KnownCopy(from: source, to: target, known).note(
                    before.original, before.copy, cutsAgain: method == .cuttingAgain)
            }
            let root = try copyTree(of: snapshot, writer, known, reading, progress, earlier: before?.copy)
            try FaultInjection.reached("copy.tree-stored")
            let copy = try commit(snapshot, root, writer, parent: parent(of: snapshot, catalog))
            noted.insert(snapshot.id)
            return .copied(copy, storedBytes: writer.storedByteCount)
        } catch {
            writer.abandon()
            if let failure = reading.failure, failure.code == error.code, concernsOneSnapshot(failure.code) {
                return .failed(failure)
            }
            // What it holds cannot be stored, or is not what it should be: the same each time.
            guard [.damagedContent, .invalidArgument, .tooLarge].contains(error.code) else { throw error }
            return .failed(error)
        }
    }

    private func copyTree(
        of snapshot: Snapshot, _ writer: BackupWriter, _ known: CopiedContents?, _ reading: SourceReading,
        _ progress: CopyProgress, earlier: Snapshot?
    ) throws(BackupError) -> StoredDirectory {
        let way: TreeCopier.Method
        if method == .cuttingAgain, let known {
            way = .cutting(ContentRecutter(from: source, writer, known, reading, progress, policy: rules.policy))
        } else {
            way = .chunks(ChunkCopier(from: source, to: target, writer, known, reading, progress))
        }
        let folder = method == .cuttingAgain ? earlier.flatMap { try? target.rootDirectory(of: $0) } : nil
        var copier = TreeCopier(from: source, to: target, writer, way, reading, earlier: folder)
        return try copier.copy(snapshot.record.root)
    }

    private func commit(
        _ snapshot: Snapshot, _ root: StoredDirectory, _ writer: BackupWriter, parent: Snapshot?
    ) throws(BackupError) -> Snapshot {
        // Before the snapshot, as with a backup. The one of the store that makes these backups there stays.
        if let id = snapshot.source, let document = try? source.source(id) {
            // A damaged one is left to the store that it describes.
            let isMissing = try !FileSystem.exists(target.layout.sourcePath(of: id))
            if isMissing { try target.write(document) { $0 == nil } }
        }
        try writer.publishChunks()
        let record = snapshot.record
        let archive = try rules.archive(snapshot, target.directory(root), target)
        let attributes = record.attributes.merging(archive.attributes) { $1 }.merging(
            [Snapshot.originalAttribute: snapshot.originalID.hexadecimal]) { $1 }
        // With its token: a store recognises its own backups by it.
        let copy = SnapshotRecord(
            kind: record.kind, name: snapshot.name, creationTime: record.creationTime, parent: parent?.id, root: root,
            archiveSizeBytes: archive.sizeBytes, archiveLayout: record.archiveLayout, attributes: attributes, token: record.token)
        return try writer.commit(copy, label: FirstLabel(isPinned: snapshot.isPinned, tags: snapshot.label.tags))
    }

    private func parent(of snapshot: Snapshot, _ catalog: CopyCatalog) -> Snapshot? {
        snapshot.record.parent.flatMap { catalog.copy(of: $0, in: source) }
    }

    /// A snapshot with which it may share most of its data, and which the target has: its parent, or the one before it.
    private func predecessor(of snapshot: Snapshot, _ catalog: CopyCatalog) -> (original: Snapshot, copy: Snapshot)? {
        if let parent = snapshot.record.parent.flatMap({ source.snapshot(id: $0) }), let copy = catalog.copy(of: parent) {
            return (parent, copy)
        }
        let line = source.snapshots().filter { $0.source == snapshot.source && Snapshot.precedes($0, snapshot) }
        for original in line.reversed() {
            if let copy = catalog.copy(of: original) { return (original, copy) }
        }
        return nil
    }

    /// Whether an error of the source leaves its other snapshots readable.
    private func concernsOneSnapshot(_ code: BackupError.Code) -> Bool {
        switch code {
        case .repositoryDamaged, .unsupportedVersion, .tooLarge: true
        // A bad sector. For a server, it means that the server fails.
        case .inputOutput: !source.isRemote
        default: false
        }
    }
}
