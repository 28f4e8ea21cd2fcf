import AppData
import BackupCore
import Export
import Glibc
import SystemIO

/// A restore, from a dropped file to the report: everything is checked first; then the current data is saved; then the records are replaced in
/// one transaction and the media folder by one rename. Any failure leaves the old state, and so does a crash (`RestoreJournal`).
public struct RestoreOperation: Sendable {
    /// Phases in the words of the app's own documents.
    public static let importingPhase = "Importing data..."
    static let rollingBackMessage = "Import failed. Restoring previous data..."

    private let database: AppDatabase
    private let mediaPath: String?
    private let journalPath: String
    /// A folder of this operation's own, on the store's disk.
    private let workPath: String

    public init(database: AppDatabase, mediaPath: String?, journalPath: String, workPath: String) {
        self.database = database
        self.mediaPath = mediaPath
        self.journalPath = journalPath
        self.workPath = workPath
    }

    private var definition: AppDefinition { database.definition }

    /// Checks a file whole and changes nothing.
    /// - Throws: what is wrong with the file: `invalidContent`, `damagedContent`, `unsupportedVersion`, `tooLarge`; `notSupported` when the
    ///   app's database holds what no restore could bring back.
    public func check(_ path: String, origin: ImportOrigin = .foreign) throws(BackupError) -> CheckedImport {
        // A database that is lost holds nothing.
        if FileSystem.exists(database.path) { try database.requireReplaceable() }
        switch try DroppedFormat.detect(path) {
        case .json:
            return try check(json: path, format: .json, archive: nil)
        case .sqlite:
            return try check(database: path, format: .sqlite, archive: nil)
        case .zip:
            let room = try FileSystem.space(at: workPath).availableBytes
            let archive = try ArchiveImport(
                path: path, origin: origin, definition: definition, unpackedLimitBytes: room)
            let recordsPath = "\(workPath)/records"
            try archive.check(writingRecordsTo: recordsPath)
            return archive.hasDatabase
                ? try check(database: recordsPath, format: .zip, archive: archive)
                : try check(json: recordsPath, format: .zip, archive: archive)
        }
    }

    /// A database nobody has described is taken as it is, with its tables; of another one the records are.
    private func check(
        database path: String, format: DroppedFormat, archive: ArchiveImport?
    ) throws(BackupError) -> CheckedImport {
        let source = try DroppedDatabase(path: path, definition: definition)
        let summary = try ImportValidator(definition: source.definition).validate(source)
        if definition.coversWholeDatabase { try database.requireSameApplication(as: source) }
        return CheckedImport(
            format: format, summary: summary, records: definition.coversWholeDatabase ? .whole(source) : .database(source),
            archive: archive)
    }

    private func check(
        json path: String, format: DroppedFormat, archive: ArchiveImport?
    ) throws(BackupError) -> CheckedImport {
        guard !definition.coversWholeDatabase || FileSystem.exists(database.path) else {
            throw BackupError(
                .notSupported,
                "Import failed: the app's database is not there, and an export does not tell how to make its tables",
                path: path, remedy: "Restore the backup's database.sqlite, or its archive.zip.")
        }
        // What tables there are, if nobody has described them, is for the database to say.
        let known = definition.coversWholeDatabase ? try database.currentFormat() : definition
        let wire = try WireImport(SharedFile(path: path), definition: known)
        return CheckedImport(format: format, summary: wire.summary, records: .wire(wire.reader), archive: archive)
    }

    /// Replaces the app's data by what was checked. Durable when it returns.
    /// - Parameters:
    ///   - fileName: the dropped file's name, for the journal.
    ///   - makeSafetyBackup: saves the current data; called after everything was checked and before anything is changed.
    ///   - report: told of progress.
    /// - Throws: `busy` when the app holds its database locked, `noSpace`, …: the old data is unharmed then.
    public func run(
        _ checked: CheckedImport, fileName: String, report: ProgressHandler,
        makeSafetyBackup: () throws(BackupError) -> SnapshotID
    ) throws(BackupError) {
        report(OperationProgress(phase: Self.importingPhase))
        try requireRoom(for: checked)
        let safety = try makeSafetyBackup()
        try FaultInjection.reached("restore.safety-made")
        var journal = RestoreJournal(
            state: .prepared, operation: RandomToken.make(), fileName: fileName, safetySnapshot: safety, media: nil)
        do {
            try stageMedia(checked, &journal)
            try FaultInjection.reached("restore.media-staged")
            try journal.write(to: journalPath)
            try FaultInjection.reached("restore.journal-written")
            try replaceRecords(checked, marker: journal.operation)
        } catch {
            report(OperationProgress(phase: Self.rollingBackMessage))
            try undoUnlessCommitted(journal, error)
        }
        if let media = journal.media { try MediaExchange.publish(media) }
        try FaultInjection.reached("restore.media-published")
        journal.state = .published
        try journal.write(to: journalPath)
        try FaultInjection.reached("restore.journal-published")
        try database.removeRestoreMarker()
        try FaultInjection.reached("restore.marker-removed")
        if let media = journal.media { try MediaExchange.removeStaged(media) }
    }

    /// After a failure: the transaction has been rolled back, unless the failure came after its commit.
    private func undoUnlessCommitted(_ journal: RestoreJournal, _ failure: BackupError) throws(BackupError) {
        let marker: String?
        do {
            marker = try database.restoreMarker()
        } catch {
            // Whether it was committed cannot be told now: the journal stays, and the next start decides.
            throw failure
        }
        if marker == journal.operation { return }
        if let media = journal.media { try MediaExchange.removeStaged(media) }
        try RestoreRecovery.forget(journalPath: journalPath)
        throw failure
    }

    private func replaceRecords(_ checked: CheckedImport, marker: String) throws(BackupError) {
        let counts = checked.summary.recordCounts
        switch checked.records {
        case .wire(let source): try database.replaceAll(from: source, expectedCounts: counts, marker: marker)
        case .database(let source): try database.replaceAll(from: source, expectedCounts: counts, marker: marker)
        case .whole(let source):
            try database.replaceWhole(by: source, stagingPath: "\(workPath)/exchange.sqlite", marker: marker)
        }
    }

    /// The new data lies beside the old for a while: in the database's log, and in the staged media folder.
    private func requireRoom(for checked: CheckedImport) throws(BackupError) {
        let databaseSize = FileSystem.statusIfPresent(database.path)?.size ?? 0
        try requireRoom(databaseSize * 2 + (1 << 20), at: FileSystem.parentPath(database.path))
        if let archive = checked.archive, archive.hasMedia, let mediaPath {
            try requireRoom(archive.mediaSizeBytes, at: FileSystem.parentPath(mediaPath))
        }
    }

    private func requireRoom(_ neededBytes: UInt64, at path: String) throws(BackupError) {
        let available = try FileSystem.space(at: path).availableBytes
        guard available >= neededBytes else {
            throw BackupError(
                .noSpace, "the restore needs \(neededBytes) bytes and there are \(available)", path: path,
                remedy: "Free some space and try again; nothing was changed.")
        }
    }

    /// Unpacks the media beside the folder they will replace. The journal is written before anything is made: then a crash leaves nothing that
    /// nobody knows of. Does nothing when the file brings no media, or the app has none.
    private func stageMedia(_ checked: CheckedImport, _ journal: inout RestoreJournal) throws(BackupError) {
        guard let mediaPath, let archive = checked.archive, archive.hasMedia else { return }
        let parent = FileSystem.parentPath(mediaPath)
        let status = try FileSystem.status(mediaPath)
        guard status.kind == .directory, try FileSystem.status(parent).device == status.device else {
            throw BackupError(
                .notSupported, "the media folder cannot be replaced in one step, since it is a link or a disk of its own",
                path: mediaPath, remedy: "Use a plain folder as the app's media folder.")
        }
        let staging = MediaFolder.stagingPath(of: mediaPath, operation: journal.operation)
        // No inode yet: a journal in this state is undone, whatever happens.
        journal.media = RestoreJournal.Media(path: mediaPath, stagingPath: staging, stagedInode: 0)
        try journal.write(to: journalPath)
        try FileSystem.makeDirectories(staging)
        let folder = try OwnedDescriptor.open(staging, O_RDONLY | O_DIRECTORY)
        try folder.setPermissions(mode_t(status.mode & 0o7777))
        try FaultInjection.reached("restore.staging-made")
        try archive.stageMedia(in: staging)
        // Who restores as root leaves the app its files.
        if geteuid() == 0 { try FileSystem.setOwner(ofTree: staging, status.owner, status.group) }
        try folder.synchronizeFileSystem()
        journal.media = RestoreJournal.Media(path: mediaPath, stagingPath: staging, stagedInode: try folder.status().inode)
    }
}
