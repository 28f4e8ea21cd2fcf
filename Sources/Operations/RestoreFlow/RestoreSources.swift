import AppData
import BackupCore
import BackupRepository
import Formats
import Glibc
import Restore
import SnapshotFormats
import SystemIO

/// The sources of a restore: a file, standard input or a backup; and whether each is permitted.
extension RestoreRunner {
    /// The source of a restore: the file of that name or, if there is none, the backup of that name, as an archive without a
    /// copy.
    /// - Throws: `notFound`, `isADirectory`, …
    public func source(named source: String) throws(BackupError) -> ImportSource {
        let status = try FileSystem.look(source)
        if let status, status.kind != .directory || source.contains("/") || !hasBackup(named: source) {
            guard status.kind == .regular else {
                throw BackupError(
                    .isADirectory, "this is not a file", path: source, remedy: "Name a .json, .zip, .tar or .sqlite file.")
            }
            return try withRecords(ImportSource(file: source))
        }
        let isNamedLikeFile = Self.fileEndings.contains { source.lowercased().hasSuffix($0) }
        guard !source.contains("/") || source.hasPrefix(Store.safetyFolder), !isNamedLikeFile || hasBackup(named: source) else {
            throw BackupError(
                .notFound, "there is no such file", path: source,
                remedy: isNamedLikeFile && !source.contains("/")
                    ? "Check the name and the folder. No backup has this name either: see backupfs snapshots" : "Check the path.")
        }
        do throws(BackupError) {
            return try backup(named: source)
        } catch {
            guard error.code == .notFound, source != "latest" else { throw error }
            throw BackupError(
                .notFound, "there is no such file, and no such backup", path: source,
                remedy: "Check the path, or see: backupfs snapshots", cause: .error(error))
        }
    }

    /// The backup of a name, as an archive without a copy; no file, even if there is one of that name.
    /// - Throws: `notFound`; errors of the repository.
    public func backup(named name: String) throws(BackupError) -> ImportSource {
        // The newest one may be the other store's, with that store's data.
        if name == "latest" { try store.requireNoSuccessor() }
        let snapshot = try store.snapshot(named: name, orSafetyBackupOf: store.ownSnapshots(kind: .safety))
        try require(snapshot, named: name)
        return try self.source(of: snapshot, named: snapshot.name.description)
    }

    /// A backup as an archive without a copy.
    /// - Parameter name: the user's name for it.
    func source(of snapshot: Snapshot, named name: String) throws(BackupError) -> ImportSource {
        // A database that no definition describes is restored as a whole: its export is not needed.
        let records =
            store.definition.coversWholeDatabase
            ? nil : try SnapshotRecords(of: snapshot, in: store.repository, for: store)
        let layout = SnapshotArchive.layoutForRestore(of: snapshot, with: records?.rendered)
        // A ZIP archive is limited to times of whole seconds from 1980 to 2107.
        let table = try SnapshotArchive.table(of: snapshot, .tar, layout: layout, with: records?.rendered, in: store.repository)
        var source = ImportSource(
            stored: StoredSource(table, in: store.repository), sizeBytes: table.size, name: name,
            isSafetyBackup: snapshot.kind == .safety, archiveLayout: layout
        ).describing(snapshot, in: store.repository)
        if records?.inexact != nil { source.prefersDatabase = true }
        return source
    }

    /// The archive of a backup without an export is restored as the backup itself, since only a rendered export says which files
    /// belong to which records.
    /// - Returns: any other source as it is.
    func withRenderedExport(_ source: ImportSource) throws(BackupError) -> ImportSource {
        guard source.archiveLayout == nil, !store.definition.coversWholeDatabase else { return source }
        _ = try? store.repository.refresh()
        let candidates = store.repository.snapshots().filter { !$0.storesExport }
        guard let snapshot = try? ownFiles.snapshotWithoutExport(of: source, among: candidates) else { return source }
        return try self.source(of: snapshot, named: source.name)
    }

    /// Finds out which backup a file is of.
    var ownFiles: SelfMadeArchiveCheck {
        SelfMadeArchiveCheck(repository: store.repository, rendered: RenderedSnapshots(store: store))
    }

    private static let fileEndings = [".json", ".zip", ".tar", ".sqlite", ".sqlite3", ".db"]

    /// A folder of that name may be the result of `restore --target` for the backup.
    private func hasBackup(named name: String) -> Bool {
        (try? store.snapshot(named: name, orSafetyBackupOf: store.ownSnapshots(kind: .safety))) != nil
    }

    /// A backup of another app or machine replaces all data just as the store's own does, which must not happen by mistake.
    private func require(_ snapshot: Snapshot, named name: String) throws(BackupError) {
        guard !allowsOtherSources else { return }
        try store.requireOwn(
            snapshot, named: name,
            remedy: "If you want its data in this app, restore it with: backupfs restore --other-source")
    }

    /// The same check for an archive of such a backup, wherever it was copied from.
    func requireOwn(_ source: ImportSource) throws(BackupError) {
        guard !allowsOtherSources, store.definition.coversWholeDatabase else { return }
        let others = store.repository.snapshots().filter {
            !store.owns($0) && !store.ownership.isOfThisApp($0) && $0.record.archiveSizeBytes == source.sizeBytes
        }
        guard let other = try SelfMadeArchiveCheck(repository: store.repository).snapshot(of: source, among: others) else {
            return
        }
        try require(other, named: source.name)
    }

    /// Runs `body` with the content of standard input.
    public func withStandardInput(_ body: (ImportSource) throws -> Void) throws {
        let folder = try WorkFolder(in: store.paths.spool)
        defer { folder.remove() }
        let path = "\(folder.path)/input"
        try StandardInput.copy(to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL))
        try body(withRecords(ImportSource(file: path, name: "standard input")))
    }

    /// A file served from the repository.
    public func stored(_ table: ExtentTable, name: String) -> ImportSource {
        ImportSource(stored: StoredSource(table, in: store.repository), sizeBytes: table.size, name: name)
    }

    /// The store made the backup with a definition that knew all of its fields. Fields that today's definition lacks would be
    /// dropped, and with them the current data in them.
    func requireAllFields(_ checked: CheckedImport, of source: ImportSource) throws(BackupError) {
        guard let problem = UnknownFields.problem(checked.summary, store.definition) else { return }
        let name = ShellWords.text(of: [source.name])
        throw BackupError(
            .invalidContent, problem, path: source.name,
            remedy:
                "Put them back into the definition. To restore without them: backupfs export \(name) --zip --output FILE.zip, and then: backupfs restore FILE.zip"
        )
    }
}

extension ImportSource {
    /// Adds what is known about the backup whose archive this is.
    func describing(_ snapshot: Snapshot, in repository: Repository) -> ImportSource {
        var source = self
        source.backupDatabase = SelfMadeArchiveCheck(repository: repository).database(of: snapshot)
        source.storedMedia = StoredMedia(of: snapshot, in: repository)
        source.prefersDatabase = InexactValues(of: snapshot) != nil
        source.unreadFileCount = snapshot.unreadFileCount
        source.backupTime = snapshot.record.creationTime
        return source
    }
}

/// Fields of a backup that the app's definition no longer names: it did when the backup was made, and a restore would drop them.
enum UnknownFields {
    private static let shownCount = 5

    /// - Returns: `nil` if there are none.
    static func problem(_ summary: ImportSummary, _ definition: AppDefinition) -> Message? {
        // A database whose tables no definition describes has its own rule for missing columns; the export's metadata is not
        // data.
        guard !definition.coversWholeDatabase else { return nil }
        let metadata = definition.metadata.name + "."
        let unknown = summary.unknownFields.filter { !$0.key.hasPrefix(metadata) }.sorted { $0.key < $1.key }
        guard !unknown.isEmpty else { return nil }
        let shown =
            unknown.prefix(shownCount).map { "\($0.key) (\($0.value))" } + (unknown.count > shownCount ? ["…"] : [])
        return
            "the app's definition does not know these fields of the backup: \(MessageText.shortened(shown.joined(separator: ", ")))"
    }
}

/// A source that counts its bytes as they are read.
final class CountingByteSource: ByteSource {
    private let source: any ByteSource
    private let note: @Sendable (UInt64) -> Void

    init(_ source: any ByteSource, note: @escaping @Sendable (UInt64) -> Void) {
        self.source = source
        self.note = note
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let count = try source.read(at: offset, into: buffer)
        note(UInt64(count))
        return count
    }
}
