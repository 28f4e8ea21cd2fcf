import AppData
import BackupCore
import Export
import Glibc
import SystemIO

/// A restore, from a dropped file to the report: everything is checked first; then the current data is saved; then the records are written in
/// one transaction, and the media published after it. Any failure leaves the old state, and so does a crash (`RestoreJournal`).
public struct RestoreOperation: Sendable {
    /// Phases in the words of the app's own documents.
    public static let importingPhase: Message = "Importing data..."
    /// Told before what was begun is undone.
    public static let rollingBackMessage: Message = "Import failed. Restoring previous data..."

    let database: AppDatabase
    let mediaPath: String?
    let journalPath: String
    /// A folder of this operation's own, on the store's disk.
    let workPath: String
    let savedMedia: SavedMedia
    /// `nil` for what the definition says.
    let restoresSettings: Bool?
    /// Whether files that are damaged or missing are left out, instead of everything being refused.
    let allowsDamage: Bool
    /// Whether a file of a later version than is known is refused, instead of being tried with a warning.
    let refusesNewerSchema: Bool
    /// What must not lie among media that are replaced.
    let foreignFolders: ForeignFolders
    /// A copy of what the lost database is made of before the restore fills it: the database of the very backup that is restored; `nil` when it is made by
    /// the definition, or is there.
    let recreation: String?

    /// - Parameter savedMedia: tells what the safety backup holds of the media that a restore has replaced.
    public init(
        database: AppDatabase, mediaPath: String?, journalPath: String, workPath: String, savedMedia: SavedMedia,
        restoresSettings: Bool? = nil, allowsDamage: Bool = false, refusesNewerSchema: Bool = false,
        foreignFolders: ForeignFolders = .none, recreation: String? = nil
    ) {
        self.recreation = recreation
        self.refusesNewerSchema = refusesNewerSchema
        self.foreignFolders = foreignFolders
        self.savedMedia = savedMedia
        self.allowsDamage = allowsDamage
        self.restoresSettings = restoresSettings
        self.database = database
        self.mediaPath = mediaPath
        self.journalPath = journalPath
        self.workPath = workPath
    }

    var definition: AppDefinition { database.definition }

    /// Checks a file whole and changes nothing.
    /// - Throws: what is wrong with the file: `invalidContent`, `damagedContent`, `unsupportedVersion`, `tooLarge`; `notSupported` when the
    ///   app's database holds what no restore could bring back, or has not the form that the file has.
    public func check(
        _ source: ImportSource, strategy: ImportStrategy = .replace
    ) throws(BackupError) -> CheckedImport {
        // A database that is lost holds nothing.
        let hasDatabase = try !database.isLost()
        let warning = hasDatabase ? try database.triggerWarning() : nil
        var checked = try checkContent(source, strategy)
        try requireKnownSchema(checked, source)
        if hasDatabase, strategy == .replace { try database.requireReplaceable(copiesRows: checked.rows != nil) }
        if !hasDatabase, strategy == .replace, let recreation {
            checked.staysInRecreation = try keepsRecords(of: recreation, checked)
        }
        checked.databaseWarnings += [warning, source.warning].compactMap(\.self)
        checked.unreadFileCount = source.unreadFileCount
        if strategy == .replace { checked.storedMedia = source.storedMedia }
        if hasDatabase, strategy != .replace { try database.requireSameFormat(as: checked.definition) }
        return checked
    }

    /// - Throws: `unsupportedVersion` for a file of a later version, where the store's settings want that. Its own backups are its own data.
    private func requireKnownSchema(_ checked: CheckedImport, _ source: ImportSource) throws(BackupError) {
        guard refusesNewerSchema, source.origin == .foreign, !definition.coversWholeDatabase,
            checked.summary.schemaVersion > checked.definition.newestSchemaVersion
        else { return }
        throw BackupError(
            .unsupportedVersion, ImportMessages.newerVersion, path: source.name,
            remedy: "Use a newer backupfs, or try it all the same: backupfs config set refuse-newer-schema no")
    }

    private func checkContent(
        _ source: ImportSource, _ strategy: ImportStrategy
    ) throws(BackupError) -> CheckedImport {
        let format = try DroppedFormat.detect(source.bytes)
        let knowsBackup = strategy == .replace && !definition.coversWholeDatabase
        switch format {
        case .json:
            return try copyingRows(ofBackupOf: knowsBackup ? source : nil, format: format) {
                (acceptsValues) throws(BackupError) in
                try check(json: source.bytes, source, format: format, strategy, archive: nil, acceptsValues: acceptsValues)
            }
        case .sqlite:
            let path = try source.database(in: workPath)
            // With what its log holds it is no longer the backup's.
            let isAlone = source.filePath == nil || path == source.filePath
            return try copyingRows(ofBackupOf: knowsBackup && isAlone ? source : nil, format: format) {
                (_) throws(BackupError) in
                try check(database: path, source, format: format, strategy, archive: nil)
            }
        case .zip, .tar:
            let room = try FileSystem.space(at: workPath).availableBytes
            var archive = try ArchiveImport(
                source, format, definition: definition, amongMedia: databaseAmongMedia(), roomBytes: room,
                allowsDamage: allowsDamage)
            let recordsPath = "\(workPath)/records"
            let isBackup = knowsBackup && source.archiveLayout != nil
            try archive.check(writingRecordsTo: recordsPath, databaseTo: isBackup ? backupDatabasePath : nil)
            let databasePath = isBackup ? try backupDatabasePath(of: source, &archive, recordsPath: recordsPath) : nil
            return try copyingRows(ofDatabase: databasePath, format: format, archive: archive) {
                (acceptsValues) throws(BackupError) in
                archive.hasDatabase
                    ? try check(database: recordsPath, source, format: format, strategy, archive: archive)
                    : try check(
                        json: SharedFile(path: recordsPath), source, format: format, strategy, archive: archive,
                        acceptsValues: acceptsValues)
            }
        }
    }

    /// A database nobody has described is taken as it is, with its tables; of another one the records are.
    private func check(
        database path: String, _ dropped: ImportSource, format: DroppedFormat, _ strategy: ImportStrategy,
        archive: ArchiveImport?
    ) throws(BackupError) -> CheckedImport {
        try requireTables(dropped.name)
        let source = try DroppedDatabase(
            path: path, definition: definition, needsVersion: dropped.origin == .foreign)
        var summary = try ImportValidator(
            definition: source.definition, limitsMetadata: dropped.origin == .foreign
        ).validate(source)
        // What it was validated with is the time of now.
        summary.createdAt = dropped.backupTime
        if definition.coversWholeDatabase { try database.requireSameApplication(as: source) }
        return CheckedImport(
            format: format, strategy: strategy, summary: summary,
            records: definition.coversWholeDatabase ? .whole(source) : .database(source),
            archive: archive)
    }

    /// - Parameter acceptsValues: whether values that the definition does not allow are a warning.
    private func check(
        json bytes: any ByteSource, _ dropped: ImportSource, format: DroppedFormat, _ strategy: ImportStrategy,
        archive: ArchiveImport?, acceptsValues: Bool = false
    ) throws(BackupError) -> CheckedImport {
        if definition.coversWholeDatabase, try !database.exists() {
            throw BackupError(
                .notSupported,
                "Import failed: the app's database is not there, and an export does not tell how to make its tables",
                path: dropped.name, remedy: "Restore the backup's database.sqlite, or its archive.zip.")
        }
        try database.requireKnownCollations()
        // What tables there are, if nobody has described them, is for the database to say.
        let known = definition.coversWholeDatabase ? try database.currentFormat() : definition
        let wire: WireImport
        do throws(BackupError) {
            wire = try WireImport(
                bytes, definition: known, limitsMetadata: dropped.origin == .foreign, acceptsValues: acceptsValues)
        } catch {
            throw addingFaultsOfFiles(archive, bytes, known, to: error)
        }
        guard var archive, definition.tellsOfMedia else {
            try requireTables(dropped.name)
            return CheckedImport(
                format: format, strategy: strategy, summary: wire.summary, records: .wire(PlacedRecords(source: wire.reader)),
                archive: archive)
        }
        let manifest = ManifestVisitor(wire.reader.definition)
        try wire.reader.visit(with: manifest)
        let placed = try archive.place(
            manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(wire.reader.definition))
        return CheckedImport(
            format: format, strategy: strategy, summary: wire.summary,
            records: .wire(PlacedRecords(source: wire.reader, paths: placed.recordPaths)), archive: archive,
            mediaWarnings: placed.warnings)
    }

    /// Of an archive whose records are refused: what is wrong with its files as well, so that all of it is told at once.
    private func addingFaultsOfFiles(
        _ archive: ArchiveImport?, _ bytes: any ByteSource, _ known: AppDefinition, to error: BackupError
    ) -> BackupError {
        guard error.code == .invalidContent, var archive, known.tellsOfMedia else { return error }
        let reader = WireImport.reader(of: bytes, definition: known)
        let manifest = ManifestVisitor(reader.definition)
        do throws(BackupError) {
            try reader.visit(with: manifest)
            _ = try archive.place(
                manifest.entries, isComplete: manifest.listsAllFiles, pointer: MediaPointer(reader.definition))
            return error
        } catch let fault {
            guard fault.code == .damagedContent else { return error }
            // The message is the first of them, which the findings need not have.
            let findings = error.findings.isEmpty ? [error.message] : error.findings
            return BackupError(
                error.code, error.message, path: error.path, remedy: error.remedy,
                findings: Array((findings + fault.findings).prefix(ImportValidator.findingLimit)))
        }
    }

    /// - Throws: `invalidContent` for a file without media when the app has nothing else.
    private func requireTables(_ name: String) throws(BackupError) {
        guard !definition.hasTables else { return }
        throw BackupError(
            .invalidContent, "Import failed: the file holds no media, and \(definition.title) has nothing else", path: name,
            remedy: "Restore an archive: archive.zip of a backup.")
    }

    /// Brings what was checked into the app's data. Durable when it returns.
    /// - Parameters:
    ///   - fileName: the dropped file's name, for the journal.
    ///   - report: told of progress.
    ///   - outcome: told what was done, before it is final: it is, unless this throws.
    ///   - room: what else will be needed, by the safety backup.
    ///   - prepare: called after everything was checked, and before the current data is saved. Makes what the app has lost.
    ///   - makeSafetyBackup: saves the current data, before anything is changed. Called once more, while the database is locked, when the app has
    ///     changed its records meanwhile.
    /// - Returns: what is left to say and to clear away.
    /// - Throws: `databaseInUse` when the app holds its database locked, `noSpace`, …: the old data is unharmed then.
    @discardableResult
    public func run(
        _ checked: CheckedImport, fileName: String, report: ProgressHandler, outcome: (RestoreOutcome) -> Void = { _ in },
        room: RoomCheck = RoomCheck(), prepare: () throws(BackupError) -> Void = { () throws(BackupError) in },
        makeSafetyBackup: () throws(BackupError) -> SnapshotID
    ) throws(BackupError) -> RestoreEnd {
        report(OperationProgress(phase: Self.importingPhase))
        try requireExchangeable(checked)
        try requireRoom(for: checked, room)
        try prepare()
        // Asked inside the transaction, when nobody else can write any more.
        let records = try RecordsGuard(database)
        defer { records.end() }
        let safety = try makeSafetyBackup()
        try FaultInjection.reached("restore.safety-made")
        var journal = RestoreJournal(
            state: .prepared, operation: RandomToken.make(), fileName: fileName, safetySnapshot: safety,
            strategy: checked.strategy, media: nil)
        do {
            var media = try mediaPreparation(checked)
            try extractMedia(checked, &media, &journal)
            try FaultInjection.reached("restore.media-staged")
            try journal.write(to: journalPath)
            try FaultInjection.reached("restore.journal-written")
            let marker = RestoreMarker(operation: journal.operation, journalPath: FileSystem.absolutePath(journalPath))
            try bringRecords(
                checked, into: database, marker: marker, media, guarding: records,
                saving: { () throws(BackupError) in
                    journal.safetySnapshot = try makeSafetyBackup()
                    try journal.write(to: journalPath)
                }
            ) { (done: ImportOutcome) throws(BackupError) in
                if let staging = journal.media?.stagingPath { try media.removeUnneeded(in: staging) }
                outcome(RestoreOutcome(records: done, media: media.outcome()))
            }
        } catch {
            report(OperationProgress(phase: Self.rollingBackMessage))
            try Cancellation.shielded { () throws(BackupError) in
                try undoUnlessCommitted(journal, error, hasBegun: records.hasBegun)
            }
        }
        // What has been committed cannot be cancelled any more.
        return try Cancellation.shielded { () throws(BackupError) in try finish(&journal) }
    }

    private func finish(_ journal: inout RestoreJournal) throws(BackupError) -> RestoreEnd {
        let moved = MovedMedia()
        try MediaExchange.synchronizeCommit(of: database)
        if let media = journal.media { try MediaExchange.publish(media, database, moved: moved) }
        try FaultInjection.reached("restore.media-published")
        journal.state = .published
        try journal.write(to: journalPath)
        var end = RestoreEnd()
        // The data is new: what cannot be cleared away from here on is no failure of the restore.
        do throws(BackupError) {
            try FaultInjection.reached("restore.journal-published")
            try database.removeRestoreMarker(of: journal.operation)
            try FaultInjection.reached("restore.marker-removed")
        } catch {
            end.leftover = error
        }
        end.clear(journal, savedMedia, moved)
        return end
    }

    /// After a failure: the transaction has been rolled back, unless the failure came after its commit. The journal stays until the failure has been
    /// told of.
    private func undoUnlessCommitted(
        _ journal: RestoreJournal, _ failure: BackupError, hasBegun: Bool
    ) throws(BackupError) {
        guard hasBegun else {
            // First of all: what was staged may be what fills the disk.
            if let media = journal.media { try MediaExchange.undo(media) }
            throw failure
        }
        let marker: RestoreMarker?
        do {
            marker = try database.restoreMarker()
        } catch {
            // Whether it was committed cannot be told now: the journal stays, and the next start decides.
            throw failure
        }
        if marker?.operation == journal.operation { return }
        try database.settle()
        if let media = journal.media { try MediaExchange.undo(media) }
        throw failure
    }

    /// The new data lies beside the old for a while: in the database's log, and in the staged media folder.
    private func requireRoom(for checked: CheckedImport, _ others: RoomCheck) throws(BackupError) {
        var room = others
        let lostSize = recreation.flatMap { FileSystem.statusIfPresent($0)?.size } ?? 0
        let databaseSize = max(FileSystem.statusIfPresent(database.path)?.size ?? 0, lostSize)
        try room.need(
            databaseSize * 2 + lostSize + (1 << 20), at: nearestFolder(to: FileSystem.parentPath(database.realPath())))
        // Keys and identities of all records, for whoever has to find which is which.
        if checked.strategy != .replace { try room.need(databaseSize + (1 << 20), at: workPath) }
        if let archive = checked.archive, archive.hasMedia, let mediaPath {
            // Each file and folder ends somewhere in a block.
            let folder = try nearestFolder(to: FileSystem.realPathBehindLinks(mediaPath))
            let block = max(1, try FileSystem.space(at: folder).blockSizeBytes)
            let ends = UInt64(archive.mediaEntryCount).multipliedReportingOverflow(by: block).partialValue
            let holes = checked.storedMedia?.sparseFiles().values.reduce(UInt64(0)) { $0.addingSaturating($1) } ?? 0
            try room.need(
                archive.mediaSizeBytes - min(holes, archive.mediaSizeBytes), at: folder)
            try room.need(ends, at: folder)
        }
        try room.require()
    }
}
