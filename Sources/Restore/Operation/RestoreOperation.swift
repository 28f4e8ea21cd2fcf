import AppData
import BackupCore
import Export
import Glibc
import SystemIO

/// A restore, from a dropped file to the report. First everything is checked; then the current data is saved; then the records are written in one
/// transaction, and the media published after it. Any failure leaves the old state, and so does a crash (`RestoreJournal`).
public struct RestoreOperation: Sendable {
    /// Phases in the words of the app's own documents.
    public static let importingPhase: Message = "Importing data..."
    /// Reported before the rollback.
    public static let rollingBackMessage: Message = "Import failed. Restoring previous data..."

    let database: AppDatabase
    let mediaPath: String?
    let journalPath: String
    /// A folder of this operation, on the store's disk.
    let workPath: String
    let savedMedia: SavedMedia
    /// `nil` to follow the definition
    let restoresSettings: Bool?
    /// Whether damaged or missing files are left out, instead of the restore being refused.
    let allowsDamage: Bool
    /// Whether a file with a newer schema version is refused, instead of being tried with a warning.
    let refusesNewerSchema: Bool
    /// Folders that must not be among replaced media.
    let foreignFolders: ForeignFolders
    /// A copy of the database that replaces the lost one before the restore fills it: the database of the same backup. `nil` when it is created from the
    /// definition, or is not lost.
    let recreation: String?

    /// - Parameter savedMedia: knows which replaced media the safety backup holds.
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

    /// Fully checks a file, and changes nothing.
    /// - Throws: errors of the file: `invalidContent`, `damagedContent`, `unsupportedVersion`, `tooLarge`; `notSupported` when the
    ///   app's database holds data that no restore could bring back, or has a different schema than the file.
    public func check(
        _ source: ImportSource, strategy: ImportStrategy = .replace
    ) throws(BackupError) -> CheckedImport {
        // A lost database is empty.
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

    /// - Throws: `unsupportedVersion` for a file with a newer version, if the store's settings say so. Its own backups are its own data.
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
            // With the content of its log it is no longer the backup's database.
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

    /// A database without a definition is restored whole, with its tables; otherwise only its records are.
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
        // The validation used the current time.
        summary.createdAt = dropped.backupTime
        if definition.coversWholeDatabase { try database.requireSameApplication(as: source) }
        return CheckedImport(
            format: format, strategy: strategy, summary: summary,
            records: definition.coversWholeDatabase ? .whole(source) : .database(source),
            archive: archive)
    }

    /// - Parameter acceptsValues: whether values that the definition does not allow are only a warning.
    private func check(
        json bytes: any ByteSource, _ dropped: ImportSource, format: DroppedFormat, _ strategy: ImportStrategy,
        archive: ArchiveImport?, acceptsValues: Bool = false
    ) throws(BackupError) -> CheckedImport {
        if definition.coversWholeDatabase, try !database.exists() {
            throw BackupError(
                .notSupported,
                "Import failed: the app's database does not exist, and an export does not describe its tables",
                path: dropped.name, remedy: "Restore the backup's database.sqlite, or its archive.zip.")
        }
        try database.requireKnownCollations()
        // Without a definition, the database says which tables there are.
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

    /// When an archive's records are refused, also reports what is wrong with its files, so that the user sees everything in one report.
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
            // The message is the first finding, which the list of findings need not contain.
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

    /// Writes checked content into the app's data. Durable when it returns.
    /// - Parameters:
    ///   - fileName: the dropped file's name, for the journal.
    ///   - report: receives progress.
    ///   - outcome: receives the outcome before it is final; it becomes final unless this function throws.
    ///   - room: other space needs, of the safety backup.
    ///   - prepare: called after all checks, and before the current data is saved. Recreates the app's lost data.
    ///   - makeSafetyBackup: saves the current data, before any change. Called again, with the database locked, if the app has changed its records meanwhile.
    /// - Returns: what is left to report and to clean up.
    /// - Throws: `databaseInUse` when the app holds a lock on its database, `noSpace`, …: the old data is unharmed then.
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
        // Checked inside the transaction, when no other program can write.
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
        // A committed restore can no longer be cancelled.
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
        // The data is new: a failed cleanup from here on is not a failure of the restore.
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

    /// After a failure: the transaction has been rolled back, unless the failure came after its commit. The journal stays until the failure has been reported.
    private func undoUnlessCommitted(
        _ journal: RestoreJournal, _ failure: BackupError, hasBegun: Bool
    ) throws(BackupError) {
        guard hasBegun else {
            // First: the staged files may be what fills the disk.
            if let media = journal.media { try MediaExchange.undo(media) }
            throw failure
        }
        let marker: RestoreMarker?
        do {
            marker = try database.restoreMarker()
        } catch {
            // Whether it was committed is unknown now: the journal stays, and the next start decides.
            throw failure
        }
        if marker?.operation == journal.operation { return }
        try database.settle()
        if let media = journal.media { try MediaExchange.undo(media) }
        throw failure
    }

    /// The new data exists beside the old for a while: in the database's log, and in the staged media folder.
    private func requireRoom(for checked: CheckedImport, _ others: RoomCheck) throws(BackupError) {
        var room = others
        let lostSize = recreation.flatMap { FileSystem.statusIfPresent($0)?.size } ?? 0
        let databaseSize = max(FileSystem.statusIfPresent(database.path)?.size ?? 0, lostSize)
        try room.need(
            databaseSize * 2 + lostSize + (1 << 20), at: nearestFolder(to: FileSystem.parentPath(database.realPath())))
        // Space for the keys and identities of all records, which a merge has to match.
        if checked.strategy != .replace { try room.need(databaseSize + (1 << 20), at: workPath) }
        if let archive = checked.archive, archive.hasMedia, let mediaPath {
            // Each file and folder may leave a block partly empty.
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

/// A lost database, which is created again before the records are restored.
extension RestoreOperation {
    /// Checks the recreated database like an existing one.
    /// - Returns: whether its records stay unchanged: they already equal the file's, and could not be replaced without losing data that only the database has.
    /// - Throws: like `AppDatabase.requireReplaceable`, when the records must be changed anyway.
    func keepsRecords(of recreation: String, _ checked: CheckedImport) throws(BackupError) -> Bool {
        let made = AppDatabase(at: recreation, definition: definition)
        do throws(BackupError) {
            _ = try made.triggerWarning()
            try made.requireReplaceable(copiesRows: checked.rows != nil)
            return false
        } catch {
            // Records whose files are now at other paths are not the backup's.
            guard error.code == .notSupported, !checked.movesFiles else {
                throw BackupError(
                    error.code, error.message, path: database.path, remedy: error.remedy, findings: error.findings)
            }
            return true
        }
    }

    /// A copy of the lost database in its state before the restore fills it.
    func makeLost(at path: String) throws(BackupError) -> AppDatabase {
        guard let recreation else { return try AppDatabase.create(at: path, definition: definition) }
        let source = try SharedFile(path: recreation)
        try source.copy(source.size, to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600), named: path)
        return AppDatabase(at: path, definition: definition)
    }

    /// The nearest existing folder above a path.
    func nearestFolder(to path: String) throws(BackupError) -> String {
        var place = FileSystem.absolutePath(path)
        while place != "/", try FileSystem.look(place) == nil { place = FileSystem.parentPath(place) }
        return place
    }
}
