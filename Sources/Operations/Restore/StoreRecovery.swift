import AppData
import BackupCore
import BackupRepository
import Restore
import SystemIO

extension Store {
    /// Finishes or undoes a restore that a crash interrupted, and reports it. The caller holds the operation lock.
    func recoverRestore() throws(BackupError) {
        guard try FileSystem.exists(paths.restoreJournal) else {
            _ = RestoreHooks(store: self).runAfter("", .undone)
            return
        }
        try recorded(.recovery) { (facts) throws(BackupError) in
            guard let report = try finishRestore() else { return }
            facts.note(report)
        }
    }

    /// For a holder of the operation lock that is about to back up or to change the app's data: finishes what a crash interrupted here, and checks whether
    /// another store for the same database has something to finish. A backup of that would mix two states.
    /// - Throws: `busy` when it has.
    func requireWholeData() throws(BackupError) {
        try recoverRestore()
        try requireNoOtherRestore()
    }

    /// - Throws: `busy` while another store's restore of the same database is unfinished; `databaseInUse` while that cannot be determined.
    func requireNoOtherRestore() throws(BackupError) {
        do {
            try database.requireNoOtherRestore(ownJournalPath: FileSystem.absolutePath(paths.restoreJournal))
        } catch let error where error.code != .busy && error.code != .databaseInUse {
            // The next reader of the database reports what is wrong with it; a restore recreates it if it is lost.
        }
    }

    private func finishRestore() throws(BackupError) -> RestoreReport? {
        let hooks = RestoreHooks(store: self)
        let recovered = try RestoreRecovery.run(
            journalPath: paths.restoreJournal, database: database, savedMedia: savedMedia)
        guard let result = recovered else {
            _ = hooks.runAfter("", .undone)
            return nil
        }
        let safety = result.safetySnapshot.flatMap { repository.snapshot(id: $0) }
        let now = SystemClock.now()
        var report = RestoreReport(
            result: result.outcome == .completed ? .completed : .undone, fileName: result.fileName, startedAt: now,
            finishedAt: now, strategy: result.strategy, safetyBackup: safety.map(nameInSafety))
        report.safetySnapshot = result.safetySnapshot
        if report.result == .undone, RecreationRecord.abandoned(in: paths.spool).contains(where: { $0.hasMade(database) }) {
            report.broughtBack = RecreationRecord.broughtBack
        }
        tellUndo(in: &report)
        report.note(result.end)
        report.hooks = hooks.runAfter(result.fileName, report.result)
        // The outcome for the data is certain. On a full disk, a later operation reports it; the store opens anyway.
        try? conclude(report)
        return report
    }

    /// For a restore, whose journal would replace the other one's.
    /// - Throws: `busy` when an earlier restore is done, but what it replaced could not be removed.
    func requireNoLeftover() throws(BackupError) {
        guard try FileSystem.exists(paths.restoreJournal) else { return }
        throw BackupError(
            .busy, "what an earlier restore has replaced could not be cleared away yet", path: paths.restoreJournal,
            remedy: "restore/last.txt says why. Mend that, and try again.")
    }

    /// Reports the outcome of a restore, and only then removes its journal.
    func conclude(_ report: RestoreReport) throws(BackupError) {
        try writeReport(report)
        if report.isNew { try noteRestore(report) }
        // After the report: a restore that cannot be reported is concluded again later.
        guard report.result != .unfinished, report.leftover == nil, try FileSystem.exists(paths.restoreJournal) else { return }
        try RestoreRecovery.forget(journalPath: paths.restoreJournal)
    }

    /// An older restore is no longer the one to undo, whatever is known about this one.
    private func noteRestore(_ report: RestoreReport) throws(BackupError) {
        guard let safety = report.safetySnapshot else { return try FileSystem.removeFile(paths.lastRestore) }
        try LastRestoreRecord(path: paths.lastRestore).write(
            LastRestoreRecord.Restore(name: report.fileName, time: report.finishedAt, safetySnapshot: safety))
    }

    /// Adds how to undo the restore, if the app can replace its data.
    func tellUndo(in report: inout RestoreReport) {
        let canReplace = definition.strategies.contains(.replace)
        report.undoFolder = canReplace ? definition.defaultStrategy == .replace ? "restore/" : "restore/replace/" : nil
        report.undoCommand = canReplace ? command(["undo"]) : nil
    }

    /// `restore/last.json` and `restore/last.txt`.
    func writeReport(_ report: RestoreReport) throws(BackupError) {
        try FileSystem.writeFileAtomically(paths.lastRestoreJSON, report.json.prettyText)
        try FileSystem.writeFileAtomically(paths.lastRestoreText, Array("\(language.text(report.text))\n".utf8))
    }

    /// The app's own file name for a backup, in `exports/`, and whether the file is the archive, which depends on the name.
    public func exportFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) {
        let name = definition.fileNames.backupName(stamp: SnapshotStamp.of(snapshot), snapshot.channel)
        return (name, name.hasSuffix(".zip"))
    }

    /// The name of a safety backup in `safety/`, and whether it is the archive: an app with media needs all of it. A database that no definition describes
    /// needs its tables, which an export does not create.
    public func safetyFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) {
        Self.safetyFile(of: snapshot, definition, hasMedia: mediaPath != nil)
    }

    static func safetyFile(
        of snapshot: Snapshot, _ definition: AppDefinition, hasMedia: Bool
    ) -> (name: String, isArchive: Bool) {
        let name = definition.fileNames.safety.name(stamp: SnapshotStamp.of(snapshot))
        guard hasMedia || definition.coversWholeDatabase else { return (name, false) }
        if name.hasSuffix(".zip") { return (name, true) }
        let stem = name.hasSuffix(".json") ? String(name.dropLast(5)) : name
        return (stem + ".zip", true)
    }
}
