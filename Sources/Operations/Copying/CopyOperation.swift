import AppData
import BackupCore
import BackupRepository
import Formats
import Restore
import SnapshotFormats
import SystemIO

/// Copies backups from the store's repository into another one, or from another one into the store's.
public struct CopyOperation {
    /// Which of the two repositories is the store's.
    public enum Direction: Sendable {
        case toOther, fromOther
    }

    /// What was done, or would be done.
    public struct Summary: Sendable {
        /// For messages.
        public let from: String
        /// See `from`.
        public let to: String
        /// Those that were copied, or would be.
        public internal(set) var copiedCount = 0
        /// Those of whose copies the other repository had lost data, and has it again, or would have.
        public internal(set) var completedCount = 0
        /// Those that the other repository had.
        public internal(set) var presentCount = 0
        /// Those that were removed there, and not copied again.
        public internal(set) var removedCount = 0
        /// The errors of those that cannot be read, by their names.
        public internal(set) var failures: [(name: FileName, error: BackupError)] = []
        /// Why records of backups cannot be read, if all backups were to be copied: their names are unknown.
        public internal(set) var unreadableRecords: [BackupError] = []
        /// Backups that were not copied since they are damaged.
        public var failedCount: Int { failures.count + unreadableRecords.count }
        /// The growth of the repository, without the indexes of packs.
        public internal(set) var storedBytes: UInt64 = 0

        /// For the report: between which repositories, and what could not be copied.
        var details: [Message] {
            ["Copied from: \(from)", "Copied to: \(to)", "Copied backups: \(copiedCount + completedCount)"]
                + failures.map { "\($0.name): \($0.error.summary)" } + unreadableRecords.map(\.summary)
        }
    }

    private let store: Store
    private let other: OtherRepository
    private let direction: Direction
    private let names: [String]

    /// - Parameter names: of backups and safety backups, or `latest`; empty for all backups.
    public init(store: Store, other: OtherRepository, _ direction: Direction, names: [String]) {
        self.store = store
        self.other = other
        self.direction = direction
        self.names = names
    }

    /// What a run would do. Changes nothing.
    /// - Throws: as `run`.
    public func plan(progress: ProgressHandler?) throws(BackupError) -> (items: [SnapshotCopy.Item], summary: Summary) {
        let opened = try other.open(for: store, progress: progress)
        guard let opened else {
            // It would be created, and has nothing yet.
            let snapshots = try chosen(in: store.repository)
            var summary = Summary(from: store.repositoryLocation, to: other.location)
            summary.copiedCount = snapshots.count
            return (snapshots.map { SnapshotCopy.Item(snapshot: $0, verdict: .copy) }, summary)
        }
        let (source, target) = ends(opened)
        let items = try SnapshotCopy(from: source, to: target, Self.rules).plan(chosen(in: source), areNamed: !names.isEmpty)
        var summary = Summary(from: source.location, to: target.location)
        if names.isEmpty { summary.unreadableRecords = source.recordDamages }
        for item in items {
            switch item.verdict {
            case .copy: summary.copiedCount += 1
            case .isIncomplete: summary.completedCount += 1
            case .isThere: summary.presentCount += 1
            case .wasRemoved: summary.removedCount += 1
            }
        }
        return (items, summary)
    }

    /// - Parameter didEnd: called when a backup is done.
    /// - Returns: also what could not be copied, since it is damaged.
    /// - Throws: `usage` for one repository on both sides; `notFound` for a name; `busy`; errors of the repositories. What was
    ///   copied before an error stays.
    public func run(
        progress: ProgressHandler?, didEnd: @escaping (SnapshotCopy.Result) -> Void
    ) throws(BackupError) -> Summary {
        try store.recorded(.copySnapshots) { (facts) throws(BackupError) in
            let summary: Summary
            switch direction {
            // Backups can be made meanwhile: the store's repository is only read.
            case .toOther:
                let cancellation = Cancellation.current ?? Cancellation()
                summary = try CancellingSignals.run { () throws(BackupError) in
                    try cancellation.run { () throws(BackupError) in
                        // A wrong name must not leave a new repository.
                        _ = try chosen(in: store.repository)
                        let opened: Repository
                        if let existing = try other.open(for: store, progress: progress) {
                            opened = existing
                        } else {
                            opened = try other.create(for: store)
                        }
                        return try copy(opened, progress, &facts, didEnd)
                    }
                }
            case .fromOther:
                // Before the lock, for which an automatic backup ends: a person may have to type the password.
                let opened = try other.openExisting(for: store, progress: progress)
                let lock = try store.lockForOperation()
                defer { withExtendedLifetime(lock) {} }
                summary = try store.monitor.run(
                    OperationKind.copySnapshots.rawValue, phase: "Copying backups...", progress
                ) { (report) throws(BackupError) in try copy(opened, report, &facts, didEnd) }
            }
            facts.storedByteCount = summary.storedBytes
            facts.note(details: summary.details)
            if let failure = summary.failures.first?.error ?? summary.unreadableRecords.first {
                facts.note(failure)
                (facts.result, facts.fileKind) = (.failed, .repository)
            } else if summary.copiedCount + summary.completedCount == 0 {
                facts.result = .skipped
            }
            return summary
        }
    }

    private func copy(
        _ opened: Repository, _ progress: ProgressHandler?, _ facts: inout OperationFacts,
        _ didEnd: (SnapshotCopy.Result) -> Void
    ) throws(BackupError) -> Summary {
        let (source, target) = ends(opened)
        let copy = try SnapshotCopy(from: source, to: target, Self.rules)
        let items = try copy.plan(chosen(in: source), areNamed: !names.isEmpty)
        if let only = items.first, items.count == 1 { facts.note(only.snapshot) }
        var summary = Summary(from: source.location, to: target.location)
        if names.isEmpty { summary.unreadableRecords = source.recordDamages }
        try requireRoom(for: items, of: copy, in: target)
        try copy.run(items, progress: progress) { result in
            switch result.outcome {
            case .copied(_, let storedBytes):
                summary.copiedCount += 1
                summary.storedBytes += storedBytes
            case .completed(_, let storedBytes):
                summary.completedCount += 1
                summary.storedBytes += storedBytes
            case .isThere: summary.presentCount += 1
            case .wasRemoved: summary.removedCount += 1
            case .failed(let error): summary.failures.append((result.snapshot.name, error))
            }
            didEnd(result)
        }
        return summary
    }

    /// A server says itself when it is full.
    /// - Throws: `noSpace`, as far as it is known before how much is needed.
    private func requireRoom(
        for items: [SnapshotCopy.Item], of copy: SnapshotCopy, in target: Repository
    ) throws(BackupError) {
        guard !target.isRemote, let space = try? FileSystem.space(at: target.path),
            let bytes = try copy.requiredBytes(for: items, beyond: space.availableBytes)
        else { return }
        var room = DiskSpaceRequirement()
        try room.need(bytes, at: target.path)
        try room.require(
            "the copy of these backups", remedy: "Free some space and try again, or name the backups that are to be copied.")
    }

    private func ends(_ opened: Repository) -> (source: Repository, target: Repository) {
        direction == .toOther ? (store.repository, opened) : (opened, store.repository)
    }

    /// - Throws: `notFound` for a name that no backup has.
    private func chosen(in source: Repository) throws(BackupError) -> [Snapshot] {
        try source.refresh()
        guard !names.isEmpty else { return source.snapshots(kind: .snapshot) }
        var chosen: [Snapshot] = []
        for name in names {
            let snapshot = try direction == .toOther ? store.anySnapshot(named: name) : Self.snapshot(named: name, in: source)
            if !chosen.contains(where: { $0.id == snapshot.id }) { chosen.append(snapshot) }
        }
        return chosen
    }

    private static func snapshot(named name: String, in source: Repository) throws(BackupError) -> Snapshot {
        if name == "latest", let newest = source.snapshots(kind: .snapshot).last { return newest }
        guard let snapshot = source.snapshot(named: FileName(name)) else {
            throw BackupError(
                .notFound, "the other repository has no such backup", path: name,
                remedy: "See what it has with: backupfs copy-snapshots --from REPOSITORY --dry-run")
        }
        return snapshot
    }

    /// How a backup cuts files, and how large the archive of a copy is.
    private static let rules = CopyRules { path, start in
        if let database = start.withUnsafeBytes({ SQLiteHeader($0) }) { return .database(pageSizeBytes: database.pageSizeBytes) }
        return path.starts(with: "media/".utf8) ? .media : .structuredText
    } archive: { (original, root, repository) throws(BackupError) in
        let record = original.record
        let naming = record.attributes[Snapshot.archiveNamesAttribute].flatMap { ManifestNaming($0) }
        let sizes = try ArchiveSizes(
            of: root, layout: record.archiveLayout, names: ManifestNaming.names(naming, root: root, in: repository),
            time: record.creationTime, in: repository)
        return CopyRules.Archive(
            sizeBytes: sizes.zip,
            attributes: [
                Snapshot.archiveVersionAttribute: String(ZIPLayout.version), Snapshot.tarSizeAttribute: String(sizes.tar),
                Snapshot.tarVersionAttribute: String(TARLayout.version),
            ])
    }
}
