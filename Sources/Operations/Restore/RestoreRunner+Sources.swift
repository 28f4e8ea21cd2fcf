import BackupCore
import BackupRepository
import Export
import Glibc
import Restore
import SystemIO

/// What is restored: a file, standard input or a backup, and whether it may be.
extension RestoreRunner {
    /// What is to be restored: the file of that name, or, if there is none, the backup of that name, as an archive of which nothing is copied.
    /// - Throws: `notFound`, `isADirectory`, …
    public func source(named source: String) throws(BackupError) -> ImportSource {
        let status = try FileSystem.look(source)
        if let status, status.kind != .directory || source.contains("/") || !hasBackup(named: source) {
            guard status.kind == .regular else {
                throw BackupError(
                    .isADirectory, "this is not a file", path: source, remedy: "Name a .json, .zip, .tar or .sqlite file.")
            }
            return try ImportSource(file: source)
        }
        let isNamedLikeFile = Self.fileEndings.contains { source.lowercased().hasSuffix($0) }
        guard !source.contains("/") || source.hasPrefix(Store.safetyFolder), !isNamedLikeFile || hasBackup(named: source) else {
            throw BackupError(
                .notFound, "there is no such file", path: source,
                remedy: isNamedLikeFile && !source.contains("/")
                    ? "Check the name and the folder. It is no backup's name either: see backupfs snapshots" : "Check the path.")
        }
        // The newest may be one that the other store has made, of its own data.
        if source == "latest" { try store.requireNoSuccessor() }
        let snapshot: Snapshot
        do throws(BackupError) {
            snapshot = try store.snapshot(named: source, orSafetyBackupOf: store.ownSnapshots(kind: .safety))
        } catch {
            guard error.code == .notFound, source != "latest" else { throw error }
            throw BackupError(
                .notFound, "there is no such file, and no such backup", path: source,
                remedy: "Check the path, or see: backupfs snapshots")
        }
        try require(snapshot, named: source)
        return try self.source(of: snapshot, named: snapshot.name.description)
    }

    /// A backup, as an archive of which nothing is copied.
    /// - Parameter name: what a user calls it.
    func source(of snapshot: Snapshot, named name: String) throws(BackupError) -> ImportSource {
        let layout = SnapshotArchive.layoutForRestore(of: snapshot)
        // A ZIP archive has times of whole seconds from 1980 to 2107 only.
        let table = try SnapshotArchive.table(of: snapshot, .tar, layout: layout, in: store.repository)
        return ImportSource(
            stored: StoredSource(table, in: store.repository), sizeBytes: table.size, name: name,
            isSafetyBackup: snapshot.kind == .safety, archiveLayout: layout
        ).describing(snapshot, in: store.repository)
    }

    private static let fileEndings = [".json", ".zip", ".tar", ".sqlite", ".sqlite3", ".db"]

    /// A folder of that name may be one that `restore --target` has made of the backup.
    private func hasBackup(named name: String) -> Bool {
        (try? store.snapshot(named: name, orSafetyBackupOf: store.ownSnapshots(kind: .safety))) != nil
    }

    /// The backup of another app, or of another machine, replaces all data just as the store's own does, which must not happen by mistake.
    private func require(_ snapshot: Snapshot, named name: String) throws(BackupError) {
        guard !allowsOtherSources else { return }
        try store.requireOwn(
            snapshot, named: name,
            remedy: "If you want its data in this app, restore it with: backupfs restore --other-source")
    }

    /// The same for an archive of such a backup, wherever it was copied from.
    func requireOwn(_ source: ImportSource) throws(BackupError) {
        guard !allowsOtherSources, store.definition.coversWholeDatabase else { return }
        let others = store.repository.snapshots().filter {
            !store.owns($0) && !store.ownership.isOfThisApp($0) && $0.record.archiveSizeBytes == source.sizeBytes
        }
        guard let other = try OwnArchive(repository: store.repository).snapshot(of: source, among: others) else { return }
        try require(other, named: source.name)
    }

    /// Runs `body` with what standard input gives.
    public func withStandardInput(_ body: (ImportSource) throws -> Void) throws {
        let folder = try WorkFolder(in: store.paths.spool)
        defer { folder.remove() }
        let path = "\(folder.path)/input"
        try StandardInput.copy(to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL))
        try body(ImportSource(file: path, name: "standard input"))
    }

    /// A file that the repository serves.
    public func stored(_ table: ExtentTable, name: String) -> ImportSource {
        ImportSource(stored: StoredSource(table, in: store.repository), sizeBytes: table.size, name: name)
    }

    /// The store has made the backup with a definition that knew all of it. What today's does not know would be dropped, and the data of now with it.
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
    /// With what is known of the backup whose archive it is.
    func describing(_ snapshot: Snapshot, in repository: Repository) -> ImportSource {
        var source = self
        source.backupDatabase = OwnArchive(repository: repository).database(of: snapshot)
        source.storedMedia = StoredMedia(of: snapshot, in: repository)
        source.prefersDatabase = InexactValues(of: snapshot) != nil
        source.unreadFileCount = snapshot.unreadFileCount
        source.backupTime = snapshot.record.creationTime
        return source
    }
}
