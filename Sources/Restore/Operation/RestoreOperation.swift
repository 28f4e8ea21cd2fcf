import AppData
import BackupCore
import SystemIO

/// A restore, from a dropped file to the report. First everything is checked; then the current data is saved; then the records
/// are written in one transaction, and the media published after it. Any failure leaves the old state, and so does a crash
/// (`RestoreJournal`).
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
    /// A copy of the database that replaces the lost one before the restore fills it: the database of the same backup. `nil` when
    /// it is created from the definition, or is not lost.
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

    /// Writes checked content into the app's data. Durable when it returns.
    /// - Parameters:
    ///   - fileName: the dropped file's name, for the journal.
    ///   - report: receives progress.
    ///   - outcome: receives the outcome before it is final; it becomes final unless this function throws.
    ///   - room: other space needs, of the safety backup.
    ///   - prepare: called after all checks, and before the current data is saved. Recreates the app's lost data.
    ///   - makeSafetyBackup: saves the current data, before any change. Called again, with the database locked, if the app has
    ///     changed its records meanwhile.
    /// - Returns: what is left to report and to clean up.
    /// - Throws: `databaseInUse` when the app holds a lock on its database, `noSpace`, …: the old data is unharmed then.
    @discardableResult
    public func run(
        _ checked: CheckedImport, fileName: String, report: ProgressHandler, outcome: (RestoreOutcome) -> Void = { _ in },
        room: DiskSpaceRequirement = DiskSpaceRequirement(),
        prepare: () throws(BackupError) -> Void = { () throws(BackupError) in },
        makeSafetyBackup: () throws(BackupError) -> SnapshotID
    ) throws(BackupError) -> RestoreCleanup {
        report(OperationProgress(phase: Self.importingPhase))
        try requireExchangeable(checked)
        try requireRoom(for: checked, room)
        try prepare()
        // Checked inside the transaction, when no other program can write.
        let records = try CommitGuard(database)
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
            try writeRecords(
                checked, into: database, marker: marker, media, guarding: records,
                saving: { () throws(BackupError) in
                    journal.safetySnapshot = try makeSafetyBackup()
                    try journal.write(to: journalPath)
                }
            ) { (done: ImportOutcome) throws(BackupError) in
                if let staging = journal.media?.stagingPath { try media.removeUnneeded(in: staging) }
                try refresh(media.unchanged, checked, journal)
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

    private func finish(_ journal: inout RestoreJournal) throws(BackupError) -> RestoreCleanup {
        let moved = MovedMedia()
        try MediaExchange.synchronizeCommit(of: database)
        if let media = journal.media { try MediaExchange.publish(media, database, moved: moved) }
        try FaultInjection.reached("restore.media-published")
        journal.state = .published
        try journal.write(to: journalPath)
        var end = RestoreCleanup()
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

    /// After a failure: the transaction has been rolled back, unless the failure came after its commit. The journal stays until
    /// the failure has been reported.
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
        try database.overwriteFailedCommit()
        if let media = journal.media { try MediaExchange.undo(media) }
        throw failure
    }

    /// The new data exists beside the old for a while: in the database's log, and in the staged media folder.
    private func requireRoom(for checked: CheckedImport, _ others: DiskSpaceRequirement) throws(BackupError) {
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
            let folders = UInt64(archive.mediaEntryCount - archive.mediaFileCount)
            // What differs is known exactly when the safety backup has been made, which may tell it without reading the files.
            let new = try UnchangedMedia.leastNew(
                of: archive, in: FileSystem.realPathBehindLinks(mediaPath),
                holes: checked.storedMedia?.sparseFiles() ?? [:])
            try room.need(new.bytes, at: folder)
            try room.need((new.count + folders).multipliedReportingOverflow(by: block).partialValue, at: folder)
        }
        try room.require()
    }

    /// The nearest existing folder above a path.
    func nearestFolder(to path: String) throws(BackupError) -> String {
        var place = FileSystem.absolutePath(path)
        while place != "/", try FileSystem.look(place) == nil { place = FileSystem.parentPath(place) }
        return place
    }
}
