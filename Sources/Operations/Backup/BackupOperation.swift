import AppData
import BackupCore
import BackupRepository
import Export
import Restore
import SystemIO

/// A backup: the app's records, database and media as they are at one instant, durable and visible in one step.
public struct BackupOperation: Sendable {
    static let phase = "Creating backup..."

    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - label: the snapshot's name; the local time if not given.
    ///   - tag: kept with the snapshot.
    /// - Throws: `busy` while another operation runs, `alreadyExists` for a label that is taken, …; no snapshot is left then.
    public func run(label: String?, tag: String?, progress: ProgressHandler?) throws(BackupError) -> BackupResult {
        let lock = try store.lockForOperation()
        defer { withExtendedLifetime(lock) {} }
        // A restore of another process that died between the records and the media: a backup of that would mix two states.
        try store.recoverRestore()
        return try store.monitor.run("backup", phase: Self.phase, progress) { (report) throws(BackupError) in
            try make(.snapshot, label: label, tag: tag, report)
        }
    }

    /// For whoever holds the operation lock.
    func make(
        _ kind: SnapshotKind, label: String?, tag: String?, _ report: @escaping ProgressHandler
    ) throws(BackupError) -> BackupResult {
        try store.repository.refresh()
        try store.database.check()
        let createdAt = SystemClock.now()
        let name = try snapshotName(kind, label, createdAt)
        let rendering = try store.withWorkFolder { (folder) throws(BackupError) in
            try AppRendering(of: store.database, in: folder, createdAt: createdAt.wholeSeconds)
        }
        let writer = try store.repository.makeWriter()
        let parent = store.repository.snapshots(kind: .snapshot).last
        let earlier = EarlierBackup(in: store.repository)

        let collections = try storeCollections(rendering, writer, earlier, createdAt)
        var entries = try storeRecords(rendering, collections, writer, earlier, createdAt)
        var unreadable: [String] = []
        if let mediaPath = store.mediaPath {
            let media = MediaBackup(writer: writer, repository: store.repository, report: report)
            let stored = try media.store(mediaPath, earlier: earlier.folder("media"))
            unreadable = media.unreadable
            let status = try FileSystem.status(mediaPath)
            entries.append(
                .directory(name: "media", mode: status.mode, modificationTime: status.modificationTime, stored: stored))
            // What changed is found by comparing stored folders, which must be readable for that.
            try writer.publishChunks()
        }
        let changes = try changes(since: parent, entries, collections, rendering)
        entries.append(try file("changes.json", changes.prettyText, writer, createdAt))
        let manifest = ManifestDocument(
            store: store, rendering: rendering, parent: parent, label: name, tag: tag, createdAt: createdAt,
            content: try Directory(entries: entries).totals, unreadable: unreadable)
        entries.append(try file("manifest.json", manifest.json.prettyText, writer, createdAt))

        let root = try writer.store(entries)
        try writer.publishChunks()
        let layout = Dictionary(store.definition.archiveLayout.map { ($0.from, $0.to) }) { first, _ in first }
        let members = try SnapshotArchive.members(
            of: store.repository.directory(root), layout: layout, time: createdAt, in: store.repository)
        let storedBytes = writer.storedByteCount
        let record = SnapshotRecord(
            kind: kind, name: name, creationTime: createdAt, parent: parent?.id, root: root,
            archiveSizeBytes: try ZIPLayout.archivedSize(of: members), archiveLayout: layout,
            attributes: manifest.attributes(
                totals: root.totals, storedBytes: storedBytes,
                stamp: SnapshotStamp.unused(at: createdAt, kind, in: store.repository)))
        return BackupResult(snapshot: try writer.commit(record), storedBytes: storedBytes, unreadable: unreadable)
    }

    /// A parent that can no longer be read is none: that must not keep a new backup from being made.
    private func changes(
        since parent: Snapshot?, _ entries: [TreeEntry], _ collections: [TreeEntry], _ rendering: AppRendering
    ) throws(BackupError) -> OrderedJSON {
        do {
            return try ChangesDocument(
                from: parent, to: entries, collections, rendering, store.definition, in: store.repository
            ).json
        } catch {
            guard parent != nil, error.code == .repositoryDamaged else { throw error }
            return try changes(since: nil, entries, collections, rendering)
        }
    }

    /// The export's collections, in the definition's order.
    private func storeCollections(
        _ rendering: AppRendering, _ writer: BackupWriter, _ earlier: EarlierBackup, _ time: Timestamp
    ) throws(BackupError) -> [TreeEntry] {
        var entries: [TreeEntry] = []
        for (name, range) in rendering.collections {
            let stored = try writer.store(
                SourceRange(rendering.export, range), policy: .structuredText,
                earlier: earlier.content(["data", FileName("\(name).json")]))
            entries.append(.file(name: FileName("\(name).json"), mode: 0o600, modificationTime: time, stored: stored))
        }
        return entries
    }

    /// The export, its collections and the database. The export consists of the very chunks of the collections: only what lies between them
    /// is its own.
    private func storeRecords(
        _ rendering: AppRendering, _ collections: [TreeEntry], _ writer: BackupWriter, _ earlier: EarlierBackup,
        _ time: Timestamp
    ) throws(BackupError) -> [TreeEntry] {
        var contents: [FileContent] = []
        var position: UInt64 = 0
        for (part, collection) in zip(rendering.collections, collections) {
            contents.append(FileContent(literal: try bytes(rendering.export, position..<part.range.lowerBound)))
            contents.append(collection.content)
            position = part.range.upperBound
        }
        contents.append(FileContent(literal: try bytes(rendering.export, position..<rendering.export.size)))
        let export = StoredFile(
            content: FileContent.concatenating(contents), checksums: try SourceChecksums.of(rendering.export))
        let database = try writer.store(
            rendering.database, policy: .database(pageSizeBytes: rendering.databasePageSizeBytes()),
            earlier: earlier.content(["database.sqlite"]))
        return [
            .directory(name: "data", mode: 0o700, modificationTime: time, stored: try writer.store(collections)),
            .file(name: "database.sqlite", mode: 0o600, modificationTime: time, stored: database),
            .file(name: "export.json", mode: 0o600, modificationTime: time, stored: export),
        ]
    }

    private func bytes(_ source: SpoolFile, _ range: Range<UInt64>) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try source.read(at: range.lowerBound, into: buffer)
        }
        guard count == bytes.count else { throw BackupError(.inputOutput, "the rendered export became shorter") }
        return bytes
    }

    private func file(
        _ name: FileName, _ text: [UInt8], _ writer: BackupWriter, _ time: Timestamp
    ) throws(BackupError) -> TreeEntry {
        .file(name: name, mode: 0o600, modificationTime: time, stored: try writer.store(text, policy: .structuredText))
    }

    /// The label, or the local time; a second backup within one second gets `_2`.
    private func snapshotName(_ kind: SnapshotKind, _ label: String?, _ time: Timestamp) throws(BackupError) -> FileName {
        if let label {
            let name = FileName(label)
            guard name.isSnapshotName else {
                throw BackupError(
                    .invalidArgument, "this cannot be the name of a backup", path: label, remedy: "Choose another name.")
            }
            if store.repository.snapshot(named: name) != nil {
                throw BackupError(
                    .alreadyExists, "there is a backup of that name already", path: label, remedy: "Choose another name.")
            }
            return name
        }
        // Safety backups have names that nobody gives a backup of his own.
        let prefix = kind == .safety ? "~safety-" : ""
        for candidate in SnapshotStamp.candidates(at: time) {
            let name = FileName(prefix + candidate)
            if store.repository.snapshot(named: name) == nil { return name }
        }
        throw BackupError(.alreadyExists, "too many backups were made within one second", remedy: "Try again.")
    }
}
