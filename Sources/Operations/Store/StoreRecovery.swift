import AppData
import BackupCore
import BackupRepository
import Formats
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

    /// For a holder of the operation lock that is about to back up or to change the app's data: finishes what a crash interrupted
    /// here, and checks whether another store for the same database has something to finish. A backup of that would mix two
    /// states.
    /// - Throws: `busy` when it has.
    func requireWholeData() throws(BackupError) {
        try recoverRestore()
        try requireNoOtherRestore()
    }

    /// - Throws: `busy` while another store's restore of the same database is unfinished; `databaseInUse` while that cannot be
    ///   determined.
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
        describeUndo(in: &report)
        report.note(result.end)
        report.hooks = hooks.runAfter(result.fileName, report.result)
        // The outcome for the data is certain. On a full disk, a later operation reports it; the store opens anyway.
        try? finishReport(report)
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
    func finishReport(_ report: RestoreReport) throws(BackupError) {
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
    func describeUndo(in report: inout RestoreReport) {
        let canReplace = definition.strategies.contains(.replace)
        report.undoFolder = canReplace ? definition.defaultStrategy == .replace ? "restore/" : "restore/replace/" : nil
        report.undoCommand = canReplace ? command(["undo"]) : nil
    }

    /// `restore/last.json` and `restore/last.txt`.
    func writeReport(_ report: RestoreReport) throws(BackupError) {
        try FileSystem.writeFileAtomically(paths.lastRestoreJSON, report.json.prettyText)
        try FileSystem.writeFileAtomically(paths.lastRestoreText, Array("\(language.text(report.text))\n".utf8))
    }
}

/// The last restore that changed the app's data, and the safety backup that undoes it: `last-restore.json` in the store. The
/// newest safety backup is not enough: a restore that failed after making one leaves it as well.
struct LastRestoreRecord {
    struct Restore: Equatable, Sendable {
        /// The name of the restored file or backup.
        let name: String
        let time: Timestamp
        let safetySnapshot: SnapshotID
    }

    /// Older programs do not read a later version of this file.
    private static let version: UInt64 = 1

    let path: String

    /// - Returns: `nil` when there was no restore, or an older program made it.
    /// - Throws: `unsupportedVersion` when a later program wrote it; `damagedContent`.
    func read() throws(BackupError) -> Restore? {
        guard try FileSystem.exists(path) else { return nil }
        let members = JSONMembers(try FileSystem.readFile(path, limitBytes: 1 << 16))
        if let version: UInt64 = members.number("version"), version > Self.version {
            throw BackupError(
                .unsupportedVersion, "a later version of backupfs has noted the last restore here", path: path,
                remedy: "Use that version, or restore the safety backup by its name. See: backupfs snapshots --safety")
        }
        guard let name = members.text("file"), let time = members.time("at"),
            let snapshot = members.text("safetySnapshot").flatMap({ SnapshotID(hexadecimal: $0) })
        else {
            throw BackupError(
                .damagedContent, "the note of the last restore is damaged", path: path,
                remedy: "Restore the safety backup by its name. See: backupfs snapshots --safety")
        }
        return Restore(name: name, time: time, safetySnapshot: snapshot)
    }

    func write(_ restore: Restore) throws(BackupError) {
        let document: OrderedJSON = [
            "version": Self.version, "file": restore.name, "at": restore.time.wholeSeconds,
            "safetySnapshot": restore.safetySnapshot,
        ]
        try FileSystem.writeFileAtomically(path, document.prettyText)
    }
}
