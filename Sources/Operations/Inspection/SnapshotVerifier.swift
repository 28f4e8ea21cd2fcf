import BackupCore
import BackupRepository
import Formats
import Glibc
import Restore
import SnapshotFormats
import SystemIO

/// Proves that a backup can be restored by doing so: into a work folder on the store's disk, which is removed afterwards, even
/// after a crash. Then checks the result without trusting anything: `backupfs verify`.
public struct SnapshotVerifier: Sendable {
    static let phase: Message = "Verifying backup..."
    /// What the proof of one backup found.
    public struct Outcome: Sendable {
        public let snapshot: Snapshot
        /// The problems found; empty when the backup restores exactly as it was made.
        public let findings: [Message]
        /// What could not be checked for a reason other than damage.
        public let notes: [Message]
        /// Files that were read.
        public let fileCount: UInt64
        /// Bytes of these files.
        public let byteCount: UInt64
        /// Records that were restored into an empty database.
        public let recordCount: Int
        /// When the proof succeeded; `nil` when it did not.
        public let verifiedAt: Timestamp?

        /// One line for people.
        public var verdict: Message {
            guard verifiedAt != nil else { return "\(snapshot.name): cannot be restored as it was made" }
            return """
                \(snapshot.name): can be restored: \(fileCount) files, \(ByteCount.text(byteCount)), \
                \(recordCount) records
                """
        }
    }

    private let store: Store

    public init(store: Store) { self.store = store }

    /// Records the time with the backup on success (`user.backupfs.verified-at`).
    /// - Throws: when the drill cannot run: `noSpace`, `notFound` when the backup was deleted meanwhile, …
    public func run(_ snapshot: Snapshot, progress: ProgressHandler?) throws(BackupError) -> Outcome {
        try store.recorded(.verify) { (facts) throws(BackupError) in
            facts.snapshot = snapshot.name.description
            let outcome = try drill(snapshot, progress)
            facts.sizeBytes = outcome.byteCount
            facts.fileCount = outcome.fileCount
            facts.recordCount = UInt64(outcome.recordCount)
            facts.note(details: outcome.findings + outcome.notes)
            if !outcome.findings.isEmpty {
                facts.result = .failed
                facts.error = .repositoryDamaged
                facts.fileKind = .repository
            }
            return outcome
        }
    }

    private func drill(_ snapshot: Snapshot, _ progress: ProgressHandler?) throws(BackupError) -> Outcome {
        let root: Directory
        do throws(BackupError) {
            root = try store.repository.rootDirectory(of: snapshot)
        } catch let error where error.code == .repositoryDamaged {
            return Outcome(
                snapshot: snapshot, findings: [error.summary], notes: [], fileCount: 0, byteCount: 0, recordCount: 0,
                verifiedAt: nil)
        }
        try requireRoom(root)
        var report: ExtractionReport?
        var notes: [Message] = []
        var recordCount = 0
        let findings = try store.withWorkFolder { (folder) throws(BackupError) -> [Message] in
            let files = "\(folder)/files"
            try FileSystem.makeDirectories(files)
            let written = try store.repository.extract(
                root, into: files, mediaOwner: snapshot.mediaOwner, phase: Self.phase, progress: progress)
            report = written
            if let first = written.firstIncomplete { notes.append(first.note(count: written.incompleteCount)) }
            var findings: [Message] = written.failures.map { "\($0.path): \($0.error.message)" }
            let rest = written.failureCount - written.failures.count
            if rest > 0 {
                findings.append(
                    .plural(
                        rest, one: "and \(rest) more file that cannot be read",
                        other: "and \(rest) more files that cannot be read"))
            }
            let check = FileTreeVerifier(
                store.repository, missing: written.failures.map(\.path), mediaOwner: snapshot.mediaOwner,
                expectsMetadata: written.incompleteCount == 0)
            findings += try check.run(root, in: files)
            let rendered: RenderedFiles?
            do throws(BackupError) {
                rendered = try self.rendered(snapshot, root)
            } catch let error where [.notSupported, .notFound, .repositoryDamaged].contains(error.code) {
                return findings + [error.summary]
            }
            var records = RecordVerifier(
                files: files, workPath: folder, definition: store.definition, renderedExport: rendered?.export.source)
            try records.run(snapshot, root)
            notes += records.notes
            recordCount = records.recordCount
            findings += records.findings
            // Damage is already reported. The only other reason to refuse an archive is its names.
            if findings.isEmpty { findings += try archiveFindings(snapshot, root, rendered, files: files) }
            return findings
        }
        if snapshot.unreadFileCount > 0 { notes.append(Snapshot.unreadFilesMessage(snapshot.unreadFileCount)) }
        var verifiedAt: Timestamp?
        if findings.isEmpty {
            let now = SystemClock.now()
            do throws(BackupError) {
                try store.repository.setVerified(snapshot.id, at: now)
            } catch {
                guard error.code == .readOnly else { throw error }
                notes.append("the repository is on a read-only disk, so the time of this check is not kept with the backup")
            }
            verifiedAt = now
        }
        return Outcome(
            snapshot: snapshot, findings: findings, notes: notes, fileCount: report?.fileCount ?? 0,
            byteCount: report?.byteCount ?? 0,
            recordCount: recordCount, verifiedAt: verifiedAt)
    }

    /// The export of a backup that does not store it, as a restore would render it.
    /// - Returns: `nil` where no restore renders one.
    private func rendered(_ snapshot: Snapshot, _ root: Directory) throws(BackupError) -> RenderedFiles? {
        guard !store.definition.coversWholeDatabase, !SnapshotRecords.areStored(in: root),
            snapshot.isOfApp(store.definition)
        else { return nil }
        return try SnapshotRecords(of: snapshot, in: store.repository, for: store).rendered
    }

    /// The reasons why a restore would refuse the backup's archive. A restore by name uses the tar form, which has the same
    /// names.
    private func archiveFindings(
        _ snapshot: Snapshot, _ root: Directory, _ rendered: RenderedFiles?, files: String
    ) throws(BackupError) -> [Message] {
        guard snapshot.record.attributes[Snapshot.appAttribute] == store.definition.name else { return [] }
        do throws(BackupError) {
            let layout = SnapshotArchive.layoutForRestore(of: snapshot, with: rendered)
            let table = try SnapshotArchive.table(of: snapshot, .zip, layout: layout, with: rendered, in: store.repository)
            let source = ImportSource(
                stored: StoredSource(table, in: store.repository), sizeBytes: table.size,
                name: ArchiveFormat.zip.fileName.description, archiveLayout: layout)
            let hasMedia = store.definition.media != nil && root.entry(named: "media") != nil
            let exportPath = "\(files)/export.json"
            if let rendered {
                try rendered.export.source.copy(
                    rendered.export.sizeBytes, to: OwnedDescriptor.open(exportPath, O_WRONLY | O_CREAT | O_EXCL),
                    named: exportPath)
            }
            try ArchiveProbe(store.definition).run(source, exportPath: exportPath, hasMedia: hasMedia)
            return []
        } catch let error where [.invalidContent, .damagedContent, .tooLarge].contains(error.code) {
            return (error.findings.isEmpty ? [error.message] : error.findings).map { "archive.zip: \($0)" }
        }
    }

    /// Space for the files, plus a second export and database.
    private func requireRoom(_ root: Directory) throws(BackupError) {
        let twice: [FileName] = ["export.json", "database.sqlite"]
        var more = twice.reduce(UInt64(0)) { $0 + (root.entry(named: $1)?.size ?? 0) }
        // The export that is rendered, twice, is about as large.
        if !SnapshotRecords.areStored(in: root) { more = more.multipliedSaturating(by: 3) }
        try store.requireRoom(for: root, moreBytes: more, at: store.paths.spool)
    }
}
