import BackupCore
import Glibc
import SystemIO

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
            /// The target had lost data of its copy, and has it again.
            case completed(Snapshot, storedBytes: UInt64)
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

    let source: Repository
    let target: Repository
    private let rules: CopyRules
    private let packSizeBytes: UInt64
    private let waitSeconds: UInt64

    /// How long a writer is waited for that comes between two snapshots: longer than most backups take.
    private static let standardWaitSeconds: UInt64 = 600

    /// - Throws: `usage` when both are the same repository, or one is a copy of the other.
    public init(from source: Repository, to target: Repository, _ rules: CopyRules) throws(BackupError) {
        try self.init(from: source, to: target, rules, packSizeBytes: OpenPack.standardSizeBytes)
    }

    /// - Parameters:
    ///   - packSizeBytes: of the target's new packs.
    ///   - waitSeconds: how long a writer is waited for that comes between two snapshots.
    init(
        from source: Repository, to target: Repository, _ rules: CopyRules, packSizeBytes: UInt64,
        waitSeconds: UInt64 = standardWaitSeconds
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
        self.waitSeconds = waitSeconds
    }

    /// What a copy would do. Changes nothing. Of the copies that are there already, folders and lists are read, and no data of
    /// files: packs that are gone or have no readable index are noticed, and damaged data is not.
    /// - Parameters:
    ///   - snapshots: of the source.
    ///   - areNamed: whether the user has named them: then those are copied as well that were removed from the target.
    /// - Returns: the snapshots, oldest first.
    public func plan(_ snapshots: [Snapshot], areNamed: Bool) throws(BackupError) -> [Item] {
        try target.refresh()
        let catalog = try CopyCatalog(target)
        var intact: IntactSnapshots?
        return try snapshots.sorted(by: Snapshot.precedes).map { (snapshot) throws(BackupError) in
            try Cancellation.check()
            let verdict = try catalog.verdict(on: snapshot, isNamed: areNamed) { (copy) throws(BackupError) in
                let known: IntactSnapshots
                if let intact { known = intact } else { known = try IntactSnapshots(target) }
                intact = known
                return try known.contains(copy)
            }
            return Item(snapshot: snapshot, verdict: verdict)
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
        for item in items {
            switch item.verdict {
            case .copy, .isIncomplete: wanted.append(item.snapshot)
            case .isThere, .wasRemoved: continue
            }
        }
        let copyProgress = CopyProgress(of: wanted, progress)
        let known = method == .asStored ? nil : try CopiedContents()
        var noted: Set<SnapshotID> = []
        var isFirst = true
        for item in items {
            let outcome: Result.Outcome
            switch item.verdict {
            case .isThere(let copy): outcome = .isThere(copy)
            case .wasRemoved: outcome = .wasRemoved
            case .copy, .isIncomplete:
                copyProgress.begin(item.snapshot)
                let writer = try makeWriter(mayWait: !isFirst, copyProgress)
                // Not only when the last thread lets go of it: after an error, the program may end before that.
                defer { writer.abandon() }
                isFirst = false
                if case .isIncomplete(let copy) = item.verdict {
                    outcome = try complete(copy, of: item.snapshot, writer, known, &noted, copyProgress)
                } else {
                    outcome = try copy(item.snapshot, writer, known, &noted, copyProgress)
                }
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

    enum Method {
        case asStored, renamingChunks, cuttingAgain
    }

    var method: Method {
        let (own, other) = (source.configuration, target.configuration)
        guard own.isEncrypted || other.isEncrypted else { return own.chunker == other.chunker ? .asStored : .cuttingAgain }
        return own.chunker.hasLengths(of: other.chunker) ? .renamingChunks : .cuttingAgain
    }

    /// Between two snapshots others may write. They must not end a copy of many.
    /// - Parameter mayWait: not for the first snapshot: then nothing is lost by trying again later.
    /// - Throws: `busy` when another writer has not ended after the time.
    private func makeWriter(mayWait: Bool, _ progress: CopyProgress) throws(BackupError) -> BackupWriter {
        let end = SystemClock.monotonicNanoseconds() + waitSeconds * 1_000_000_000
        var pauseMicroseconds: UInt32 = 50_000
        while true {
            do throws(BackupError) {
                return try target.makeWriter(packSizeBytes: packSizeBytes, operation: Self.operation)
            } catch {
                guard error.code == .busy, mayWait, SystemClock.monotonicNanoseconds() < end else { throw error }
                progress.wait(error.message)
            }
            usleep(pauseMicroseconds)
            // Each attempt at a server takes requests.
            pauseMicroseconds = min(pauseMicroseconds * 2, target.isRemote ? 5_000_000 : 250_000)
            try Cancellation.check()
        }
    }

    /// Of an error, whether the other snapshots can be copied all the same; else it is thrown.
    private func failure(_ error: BackupError, _ reading: SourceReading) throws(BackupError) -> Result.Outcome {
        if let failure = reading.failure, failure.code == error.code, concernsOneSnapshot(failure.code) {
            return .failed(failure)
        }
        // What it holds cannot be stored, or is not what it should be: the same each time.
        guard [.damagedContent, .invalidArgument, .tooLarge].contains(error.code) else { throw error }
        return .failed(error)
    }

    /// Stores again what the target has lost of a copy. The names of all its parts follow from what they hold, so that they fit
    /// the record that is there. Only if files have been cut otherwise, the snapshot gets another record.
    private func complete(
        _ copy: Snapshot, of snapshot: Snapshot, _ writer: BackupWriter, _ known: CopiedContents?,
        _ noted: inout Set<SnapshotID>, _ progress: CopyProgress
    ) throws(BackupError) -> Result.Outcome {
        let reading = SourceReading()
        do throws(BackupError) {
            // Another process may have removed it.
            guard target.snapshot(id: copy.id) != nil else {
                writer.abandon()
                return .wasRemoved
            }
            if let known, noted.insert(snapshot.id).inserted {
                try KnownCopy(from: source, to: target, known).note(snapshot, copy, cutsAgain: method == .cuttingAgain)
            }
            let root = try copyTree(of: snapshot, writer, known, reading, progress, earlier: nil)
            try FaultInjection.reached("copy.tree-stored")
            let isSame = root == copy.record.root ? try hasSameArchive(copy, snapshot, root, writer) : false
            guard isSame else {
                let other = try commit(snapshot, root, writer, parent: parent(of: snapshot, CopyCatalog(target)))
                return .copied(other, storedBytes: writer.storedByteCount)
            }
            try writer.finishWithoutRecord()
            // None is lacking if another process has done the same.
            return writer.storedByteCount == 0 ? .isThere(copy) : .completed(copy, storedBytes: writer.storedByteCount)
        } catch {
            writer.abandon()
            return try failure(error, reading)
        }
    }

    /// Whether the archive of a copy has the size that its record says. It depends on whether chunks are stored whole or as
    /// deltas, which may differ from how they were stored before.
    private func hasSameArchive(
        _ copy: Snapshot, _ snapshot: Snapshot, _ root: StoredDirectory, _ writer: BackupWriter
    ) throws(BackupError) -> Bool {
        try writer.publishChunks()
        let archive = try rules.archive(snapshot, target.directory(root), target)
        return archive.fits(copy.record)
    }

    /// - Parameter noted: the snapshots whose parts `known` has.
    private func copy(
        _ snapshot: Snapshot, _ writer: BackupWriter, _ known: CopiedContents?, _ noted: inout Set<SnapshotID>,
        _ progress: CopyProgress
    ) throws(BackupError) -> Result.Outcome {
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
            return try failure(error, reading)
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
