import AppData
import BackupCore
import BackupRepository
import Formats
import Glibc
import Restore
import SystemIO

/// Restores into a store: one at a time, with a safety backup and a report.
public struct RestoreRunner: Sendable {
    /// The size of file and database together up to which a preview runs all strategies.
    private static let cheapLimitBytes: UInt64 = 16 << 20
    /// In one message.
    private static let shownSnapshotCount = 5

    let store: Store
    private let restoresSettings: Bool?
    let allowsDamage: Bool
    let allowsOtherSources: Bool

    /// - Parameters:
    ///   - restoresSettings: whether to restore settings; `nil` for the app definition's default.
    ///   - allowsDamage: whether to leave out and report damaged or missing files of an archive, instead of refusing the whole
    ///     archive.
    ///   - allowsOtherSources: whether another store's backup may be restored.
    public init(
        store: Store, restoresSettings: Bool? = nil, allowsDamage: Bool = false, allowsOtherSources: Bool = false
    ) {
        self.store = store
        self.restoresSettings = restoresSettings
        self.allowsDamage = allowsDamage
        self.allowsOtherSources = allowsOtherSources
    }

    /// The strategy for a file or backup if none is requested. The definition's default may be to merge, which would not undo a
    /// restore. With a lost database, a merge has nothing to keep.
    public func defaultStrategy(of source: ImportSource) -> ImportStrategy {
        if source.recordFile != nil { return .merge }
        guard strategies.contains(.replace) else { return store.definition.defaultStrategy }
        let isLost = !store.definition.coversWholeDatabase && (try? store.database.isLost()) == true
        return source.isSafetyBackup || isLost ? .replace : store.definition.defaultStrategy
    }

    /// All strategies of the app, the default first.
    public var strategies: [ImportStrategy] { store.definition.strategies }

    /// Checks a file and reports exactly what restoring it would do. Changes nothing and waits for no lock.
    /// - Parameters:
    ///   - strategy: `nil` for the default.
    ///   - comparesOthers: whether to also report the effect of the app's other strategies, where that is cheap.
    /// - Throws: the problem with the file.
    public func preview(
        _ source: ImportSource, strategy: ImportStrategy? = nil, comparesOthers: Bool = false
    ) throws(BackupError) -> RestoreReport {
        let strategy = try chosen(strategy, for: source)
        let startedAt = SystemClock.now()
        return try store.withWorkFolder { (folder) throws(BackupError) in
            var report = RestoreReport(
                result: .preview, fileName: source.name, startedAt: startedAt, finishedAt: startedAt, strategy: strategy)
            do throws(BackupError) {
                let source = try withRenderedExport(source)
                let missing = try missingParts(of: source, in: folder)
                let checked = try check(source, strategy, missing, in: folder)
                try missing.requireMakeable()
                report.checked = checked
                report.unreadFileCount = Self.replacesMedia(checked, strategy) ? checked.unreadFileCount : 0
                report.outcome = try operation(source, missing, in: folder).rehearse(checked)
                if comparesOthers, isCheap(source) { report.others = try others(source, than: strategy, missing, in: folder) }
            } catch {
                throw advising(error, source).at(source.name)
            }
            report.finishedAt = SystemClock.now()
            return report
        }
    }

    /// Whether running all strategies on copies takes a negligible time.
    private func isCheap(_ source: ImportSource) -> Bool {
        source.sizeBytes + (FileSystem.statusIfPresent(store.database.path)?.size ?? 0) <= Self.cheapLimitBytes
    }

    /// Leaves out strategies that cannot be used with this file.
    private func others(
        _ source: ImportSource, than strategy: ImportStrategy, _ missing: MissingDatabase, in folder: String
    ) throws(BackupError) -> [RestoreOutcome] {
        var outcomes: [RestoreOutcome] = []
        for other in strategies where other != strategy && (other != .replace || source.recordFile == nil) {
            let folder = "\(folder)/\(other.rawValue)"
            try FileSystem.makeDirectories(folder)
            guard let checked = try? check(source, other, missing, in: folder),
                let outcome = try? operation(source, missing, in: folder).rehearse(checked)
            else { continue }
            outcomes.append(outcome)
        }
        return outcomes
    }

    /// - Throws: `notSupported` for a strategy that the app does not have.
    private func chosen(_ strategy: ImportStrategy?, for source: ImportSource) throws(BackupError) -> ImportStrategy {
        if source.recordFile != nil { return try chosen(forRecordsOf: source, strategy) }
        guard let strategy, !strategies.contains(strategy) else { return strategy ?? defaultStrategy(of: source) }
        throw BackupError(
            .notSupported, "\(store.definition.title) has no strategy \(strategy.rawValue)",
            remedy: "Choose one of: \(strategies.map(\.rawValue).joined(separator: ", ")).")
    }

    /// The command that performs this restore of a file or a backup.
    /// - Parameter source: as for `source(named:)`.
    /// - Parameter remote: the remote that the backup is in.
    public func command(restoring source: String, strategy: ImportStrategy?, remote: String? = nil) -> String {
        var words = ["restore"]
        if let remote { words.append("--remote=\(remote)") }
        if let strategy { words.append("--strategy=\(strategy.rawValue)") }
        if let restoresSettings { words.append(restoresSettings ? "--settings" : "--no-settings") }
        if allowsDamage { words.append("--allow-damaged") }
        if allowsOtherSources { words.append("--other-source") }
        // The command may be repeated in another folder.
        return store.command(words, [(try? FileSystem.exists(source)) == true ? FileSystem.absolutePath(source) : source])
    }

    /// Restores a file into the app's data. `restore/last.*` report the outcome, also when this throws.
    /// - Parameter failed: receives the report of a failure or refusal before it is thrown.
    /// - Throws: `busy` while another operation runs (without a report: the existing one is the other's); the problem with the
    ///   file; an error during the restore. The data is then as it was, unless the report says `unfinished`.
    public func run(
        _ source: ImportSource, strategy: ImportStrategy? = nil, retry: String? = nil, progress: ProgressHandler?,
        failed: (RestoreReport) -> Void = { _ in }
    ) throws(BackupError) -> RestoreReport {
        try store.recorded(.restore) { (facts) throws(BackupError) in
            facts.sizeBytes = source.sizeBytes
            let strategy = try chosen(strategy, for: source)
            facts.strategy = strategy.rawValue
            return try run(source, strategy, retry, progress, failed, &facts)
        }
    }

    private func run(
        _ source: ImportSource, _ strategy: ImportStrategy, _ retry: String?, _ progress: ProgressHandler?,
        _ failed: (RestoreReport) -> Void, _ facts: inout OperationFacts
    ) throws(BackupError) -> RestoreReport {
        let lock = try store.lockForOperation()
        defer { withExtendedLifetime(lock) {} }
        try store.places().check()
        // Left by a crash of another process, or by a database that was locked at the time.
        try store.requireWholeData()
        try store.requireNoLeftover()
        var report = RestoreReport(
            result: .refused, fileName: source.name, startedAt: SystemClock.now(), finishedAt: SystemClock.now(),
            strategy: strategy)
        store.describeUndo(in: &report)
        report.sizeBytes = source.sizeBytes
        defer { facts.note(report) }
        let hooks = RestoreHooks(store: store)
        var media: FolderLock?
        do {
            try store.monitor.run("restore", phase: RestoreProgress.firstMessage, percent: 0, retry: retry, progress) {
                (notify) throws(BackupError) in
                // Fails early, before work is wasted and the app is stopped. The lock is held only later: `before-restore` may
                // make a backup through another store.
                try store.lockMediaForRestore()?.release()
                let whole = try withRenderedExport(source)
                let steps = RestoreProgress(sizeBytes: whole.sizeBytes, notify)
                let counted = CountingByteSource(whole.bytes) { steps.noteRead($0) }
                let source = whole.replacing(bytes: counted)
                try store.withWorkFolder { (folder) throws(BackupError) in
                    let foreignFolders = try store.places().foreignFolders()
                    let (missing, checked) = try steps.checking { () throws(BackupError) in
                        let missing = try missingParts(of: source, in: folder)
                        return (missing, try check(source, strategy, missing, in: folder))
                    }
                    let operation = operation(source, missing, in: folder, among: foreignFolders)
                    report.checked = checked
                    report.result = .failed
                    try missing.requireMakeable()
                    let backup = BackupOperation(store: store)
                    var room = DiskSpaceRequirement()
                    let lostSizeBytes = missing.databaseCopy.flatMap { FileSystem.statusIfPresent($0)?.size } ?? 0
                    try SafetySpaceRequirement(store: store, lostSizeBytes: lostSizeBytes).add(to: &room)
                    // The backup may have gaps in what a restore does not replace.
                    let replacesMedia = Self.replacesMedia(checked, strategy)
                    report.unreadFileCount = replacesMedia ? checked.unreadFileCount : 0
                    let end = try operation.run(
                        checked, fileName: source.name,
                        report: { progress in
                            if progress.phase == RestoreOperation.rollingBackMessage { store.log.noteRollback() }
                            steps.update(always: true) { $0.phase = progress.phase }
                        }, outcome: { report.outcome = $0 }, room: room,
                        prepare: { () throws(BackupError) in
                            report.hooks = try hooks.runBefore(source.name, strategy)
                            // The command may have stopped the app, which could have created the parts itself.
                            try missing.make { report.broughtBack = $0 }
                            media = try store.lockMediaForRestore()
                        }
                    ) {
                        () throws(BackupError) in
                        let made = try backup.make(
                            .safety, label: nil, tag: nil, requiresAllFiles: replacesMedia, steps.noteSaving)
                        steps.enter(.importing)
                        report.safetyBackup = store.nameInSafety(made.snapshot)
                        report.safetySnapshot = made.snapshot.id
                        // Only the newest few are kept without a pin, and this one may hold the only copies.
                        if report.unreadFileCount > 0 { try store.repository.setPinned(made.snapshot.id, true) }
                        report.safetyGaps = made.incompleteness
                        report.safetyWarning = InexactValues(of: made.snapshot)?.restoreWarning
                        return made.snapshot.id
                    }
                    report.note(end)
                    steps.end()
                }
            }
        } catch let error where !finishIfCommitted(&report) {
            media?.release()
            // After a failure the data is as it was, unless the report says otherwise.
            let wasUndone = error.code == .interrupted && report.result != .unfinished
            let isUnchanged = report.keptMediaPath == nil && report.broughtBack == nil
            let cancelled: Message = isUnchanged ? "cancelled; nothing was changed" : "cancelled"
            let failure = (wasUndone ? BackupError(.interrupted, cancelled) : advising(error, source)).telling(
                ofKeptMedia: report.keptMediaPath)
            report.error = failure
            // Data that is neither old nor new must not be given to a service: the next start finishes the restore, and then
            // starts the service.
            if report.result != .unfinished { report.hooks += hooks.runAfter(source.name, report.result) }
            report.finishedAt = SystemClock.now()
            try? store.finishReport(report)
            failed(report)
            throw failure.at(source.name)
        } catch {}
        // A second attempt, in case the obstacle is gone.
        if report.leftover != nil { _ = finishIfCommitted(&report) }
        media?.release()
        report.result = .success
        report.hooks += hooks.runAfter(source.name, .success)
        report.finishedAt = SystemClock.now()
        // The new data is in place. A failure to clean up is not a failure of the restore: the next start does it.
        try? tidyUp(report)
        return report
    }

    private static func replacesMedia(_ checked: CheckedImport, _ strategy: ImportStrategy) -> Bool {
        strategy == .replace && checked.hasMedia
    }

    private func tidyUp(_ report: RestoreReport) throws(BackupError) {
        try store.finishReport(report)
        try FaultInjection.reached("restore.journal-removed")
        // An adopted source is in use from here on.
        try store.identityFile.change { $0.isQuiet = false }
        try removeOldSafetyBackups()
    }

    /// After a failure: finishes a restore that had committed its records, as the next start would. It must not be reported as
    /// failed.
    /// - Returns: whether the data is completely new. If that is unknown, `report` says so.
    private func finishIfCommitted(_ report: inout RestoreReport) -> Bool {
        guard report.result == .failed else { return false }
        do {
            let recovered = try RestoreRecovery.run(
                journalPath: store.paths.restoreJournal, database: store.database, savedMedia: store.savedMedia)
            guard let recovered else { return false }
            report.note(recovered.end)
            return recovered.outcome == .completed
        } catch {
            report.result = .unfinished
        }
        return false
    }

    /// Checks a file. If it is refused as untrusted, or because the app's archives now have their files elsewhere, checks it
    /// again as the store's own. The safety backup that a report offers for undo must be accepted, whatever its content and
    /// layout.
    private func check(
        _ source: ImportSource, _ strategy: ImportStrategy, _ missing: MissingDatabase, in folder: String
    ) throws(BackupError) -> CheckedImport {
        try requireOwn(source)
        let known = identified(source, strategy)
        do {
            let checked = try operation(source, missing, in: folder).check(known, strategy: strategy)
            if source.origin == .ownRepository { try requireAllFields(checked, of: source) }
            return checked
        } catch {
            guard known.archiveLayout == nil, error.code == .invalidContent || error.code == .tooLarge,
                let own = own(known)
            else { throw error }
            // The first check may have left an export in the folder.
            let folder = "\(folder)/own"
            try FileSystem.makeDirectories(folder)
            return try operation(source, missing, in: folder).check(own, strategy: strategy)
        }
    }

    /// An archive of one of the store's own backups is restored as the backup itself, wherever the file comes from. So are the
    /// records of its export.
    private func identified(_ source: ImportSource, _ strategy: ImportStrategy) -> ImportSource {
        guard strategy == .replace, source.archiveLayout == nil else { return source }
        let own = ownFiles
        if let snapshot = try? own.snapshot(of: source) {
            return source.asOwn(archiveLayout: snapshot.record.archiveLayout).describing(snapshot, in: store.repository)
        }
        guard !store.definition.coversWholeDatabase, let snapshots = try? own.snapshots(withFile: source), !snapshots.isEmpty
        else { return source }
        var known = source
        if snapshots.count == 1 {
            known.backupDatabase = own.database(of: snapshots[0])
        } else {
            known.warning =
                "several backups have this file, with different databases: what only their databases hold is not restored. To restore one of them, name it: \(MessageText.list(snapshots.map { $0.name.description }, limit: Self.shownSnapshotCount))"
        }
        return known
    }

    /// - Returns: the file as the store's own; `nil` when it is not.
    private func own(_ source: ImportSource) -> ImportSource? {
        if source.recordFile != nil { return source.origin == .foreign && isOwnRecord(source) ? source.asOwn : nil }
        let own = ownFiles
        if let snapshot = try? own.snapshot(of: source) { return source.asOwn(archiveLayout: snapshot.record.archiveLayout) }
        guard source.origin == .foreign, (try? own.isStoredFile(source)) == true else { return nil }
        return source.asOwn
    }

    /// - Throws: the errors of writing a copy of the backup's database.
    private func missingParts(of source: ImportSource, in folder: String) throws(BackupError) -> MissingDatabase {
        try MissingDatabase(of: store, from: { identified(source, .replace) }, workPath: folder)
    }

    private func operation(
        _ source: ImportSource, _ missing: MissingDatabase, in folder: String, among foreignFolders: ForeignFolders = .none
    ) -> RestoreOperation {
        RestoreOperation(
            database: store.database, mediaPath: store.mediaPath, journalPath: store.paths.restoreJournal, workPath: folder,
            savedMedia: store.savedMedia, restoresSettings: restoresSettings ?? (source.isSafetyBackup ? true : nil),
            allowsDamage: allowsDamage, refusesNewerSchema: store.settings.refusesNewerSchema, foreignFolders: foreignFolders,
            recreation: missing.databaseCopy)
    }

    /// Keeps the number of newest ones that the definition requests, and the pinned ones.
    private func removeOldSafetyBackups() throws(BackupError) {
        // A backup without its label may have been pinned, and only the register knows which labels are missing.
        guard store.repository.registerError == nil else { return }
        let all = store.ownSnapshots(kind: .safety)
        let old = all.dropLast(store.definition.retention.safetyKeepLast).filter { store.mayRemoveByRule($0) }
        guard !old.isEmpty else { return }
        try store.withdraw(old.map(\.id))
    }

    /// Reports in `restore/last.*` that a file was empty, unless these are about to report another restore. Takes no lock: the
    /// program that created the file may be about to write to it, and must not run into one.
    public func reportEmptyFile(named name: String) {
        guard !store.isOperationRunning, (try? FileSystem.exists(store.paths.restoreJournal)) == false else { return }
        var report = RestoreReport(
            result: .refused, fileName: name, startedAt: SystemClock.now(), finishedAt: SystemClock.now(),
            strategy: store.definition.defaultStrategy)
        report.sizeBytes = 0
        report.error = BackupError(
            .invalidContent, ImportMessages.invalidFormat, path: name, findings: ["the file is empty"])
        try? store.writeReport(report)
    }

    /// Refuses a file that would replace all data without a confirmation, where the settings ask for one. The file is checked
    /// whole first, and `restore/last.*` say what it has.
    /// - Throws: `notPermitted`, the problem with the file; nothing is changed.
    public func requireConfirmation(_ source: ImportSource, strategy: ImportStrategy? = nil) throws(BackupError) {
        // As it is now: a user who has just switched it on relies on it.
        store.reloadSettings()
        guard store.settings.confirmsRestores else { return }
        let strategy = try chosen(strategy, for: source)
        guard strategy == .replace else { return }
        try store.recorded(.restore) { (facts) throws(BackupError) in
            let startedAt = SystemClock.now()
            var report = RestoreReport(
                result: .refused, fileName: source.name, startedAt: startedAt, finishedAt: startedAt, strategy: strategy)
            let error: BackupError
            do throws(BackupError) {
                report = try preview(source, strategy: strategy)
                error = BackupError(
                    .notPermitted, "this would replace all data, and that was not confirmed", path: source.name,
                    remedy: """
                        To confirm it, make a file named CONFIRM in restore/, and copy the file again within \
                        \(Self.confirmationMinutes) minutes.
                        """)
            } catch let problem {
                error = problem
            }
            report.result = .refused
            report.error = error
            report.sizeBytes = source.sizeBytes
            report.finishedAt = SystemClock.now()
            facts.note(report)
            // An operation that runs is about to report itself.
            if !store.isOperationRunning { try? store.writeReport(report) }
            throw error
        }
    }

    /// For how long a confirmation holds.
    public static let confirmationMinutes = 10

    /// Whether a file being written is complete by now; does not check its validity.
    public func isComplete(_ path: String) -> Bool { CompletenessCheck.isComplete(path) }
}

/// Undoes the last restore by restoring the safety backup that it made. That is a restore like any other with its own safety
/// backup, so the next undo brings back what the first one took away.
extension RestoreRunner {
    /// What an undo would restore.
    public struct Undo: Sendable {
        public let source: ImportSource
        /// What was restored, and when.
        public let name: String
        /// When the last restore ended.
        public let time: Timestamp
    }

    /// - Throws: `notFound` when there is no restore to undo, or its safety backup is gone; `notSupported` when the app cannot
    ///   replace its data.
    public func undo() throws(BackupError) -> Undo {
        guard strategies.contains(.replace) else {
            throw BackupError(
                .notSupported, "\(store.definition.title) has no strategy replace, so a restore cannot be taken back",
                path: store.paths.root,
                remedy: "Write the safety backup into a folder with: backupfs restore NAME --target DIR")
        }
        guard let last = try LastRestoreRecord(path: store.paths.lastRestore).read() else {
            throw BackupError(
                .notFound, "no restore is known that could be taken back", path: store.paths.root,
                remedy: "See the safety backups with: backupfs snapshots --safety")
        }
        try store.repository.refresh()
        if let snapshot = store.repository.snapshot(id: last.safetySnapshot) {
            return Undo(source: try source(of: snapshot, named: store.nameInSafety(snapshot)), name: last.name, time: last.time)
        }
        let digits = last.safetySnapshot.hexadecimal.prefix(12)
        let isRemoved = try store.ownRemovedSnapshots().contains { $0.snapshot.id == last.safetySnapshot }
        throw BackupError(
            .notFound, "the safety backup of the last restore, of \(MessageText.shortened(last.name)), was removed",
            path: store.paths.root,
            remedy: isRemoved
                ? "Bring it back with: backupfs undelete \(digits)"
                : "See the other safety backups with: backupfs snapshots --safety")
    }
}
