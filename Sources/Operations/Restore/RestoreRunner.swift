import BackupCore
import BackupRepository
import Export
import Restore
import SystemIO

/// Restores into a store: one at a time, with a safety backup and a report.
public struct RestoreRunner: Sendable {
    private let store: Store

    public init(store: Store) { self.store = store }

    /// Checks a file and tells what restoring it would do. Changes nothing and waits for nobody.
    /// - Throws: what is wrong with the file.
    public func preview(
        path: String, name: String, origin: ImportOrigin = .foreign
    ) throws(BackupError) -> RestoreReport {
        let startedAt = SystemClock.now()
        return try store.withWorkFolder { (folder) throws(BackupError) in
            let checked: CheckedImport
            do throws(BackupError) {
                checked = try check(path, origin, in: folder)
            } catch {
                throw error.at(name)
            }
            return RestoreReport(
                result: .preview, fileName: name, startedAt: startedAt, finishedAt: SystemClock.now(), checked: checked)
        }
    }

    /// Replaces the app's data by a file's. `restore/last.*` tell how it went, also when it throws.
    /// - Throws: `busy` while another operation runs (then nothing is reported: the report is the other's); what is wrong with the file; what went
    ///   wrong on the way. The data is as it was then, unless the report says `unfinished`.
    public func run(
        path: String, name: String, origin: ImportOrigin = .foreign, progress: ProgressHandler?
    ) throws(BackupError) -> RestoreReport {
        let lock = try store.lockForOperation()
        defer { withExtendedLifetime(lock) {} }
        // Left by a crash of another process, or by a database that was locked at the time.
        try store.recoverRestore()
        var report = RestoreReport(
            result: .refused, fileName: name, startedAt: SystemClock.now(), finishedAt: SystemClock.now())
        do {
            try store.monitor.run("restore", phase: "Restoring data...", progress) { (notify) throws(BackupError) in
                try store.withWorkFolder { (folder) throws(BackupError) in
                    let operation = operation(in: folder)
                    let checked = try check(path, origin, in: folder)
                    report.checked = checked
                    report.result = .failed
                    try store.makeMissingParts()
                    let backup = BackupOperation(store: store)
                    try operation.run(checked, fileName: name, report: notify) { () throws(BackupError) in
                        let made = try backup.make(.safety, label: nil, tag: nil, notify).snapshot
                        report.safetyBackup = store.safetyFile(of: made).name
                        return made.id
                    }
                }
            }
        } catch let error where !finishIfCommitted(&report) {
            report.error = error
            report.finishedAt = SystemClock.now()
            try? store.writeReport(report)
            throw error.at(name)
        } catch {}
        report.result = .success
        report.finishedAt = SystemClock.now()
        // The data is new. What cannot be tidied up now is no failure of the restore: the next start does it.
        try? tidyUp(report)
        return report
    }

    private func tidyUp(_ report: RestoreReport) throws(BackupError) {
        try store.writeReport(report)
        try RestoreRecovery.forget(journalPath: store.paths.restoreJournal)
        try FaultInjection.reached("restore.journal-removed")
        try removeOldSafetyBackups()
    }

    /// After a failure: finishes a restore that had committed its records, as the next start would. It must not be told as failed.
    /// - Returns: whether the data is the new one, all of it. If that cannot be told, `report` says so.
    private func finishIfCommitted(_ report: inout RestoreReport) -> Bool {
        guard report.result == .failed else { return false }
        do {
            guard let recovered = try RestoreRecovery.run(journalPath: store.paths.restoreJournal, database: store.database)
            else { return false }
            if recovered.outcome == .completed { return true }
            try RestoreRecovery.forget(journalPath: store.paths.restoreJournal)
        } catch {
            report.result = .unfinished
        }
        return false
    }

    /// Checks a file. One that is refused because anybody may have made it is looked at again: the safety backup that a report offers as the
    /// way back must be taken, whatever it holds.
    private func check(
        _ path: String, _ origin: ImportOrigin, in folder: String
    ) throws(BackupError) -> CheckedImport {
        do {
            return try operation(in: folder).check(path, origin: origin)
        } catch {
            guard origin == .foreign, error.code == .invalidContent || error.code == .tooLarge,
                (try? OwnArchive(repository: store.repository).isArchive(path)) == true
            else { throw error }
            // The first look may have left an export in the folder.
            let folder = "\(folder)/own"
            try FileSystem.makeDirectories(folder)
            return try operation(in: folder).check(path, origin: .ownRepository)
        }
    }

    private func operation(in folder: String) -> RestoreOperation {
        RestoreOperation(
            database: store.database, mediaPath: store.mediaPath, journalPath: store.paths.restoreJournal, workPath: folder)
    }

    /// Keeps the newest ones that the definition asks for, and those somebody pinned.
    private func removeOldSafetyBackups() throws(BackupError) {
        let all = store.repository.snapshots(kind: .safety)
        for old in all.dropLast(store.definition.retention.safetyKeepLast) where !old.isPinned {
            try store.repository.removeSnapshot(old.id)
        }
    }

    /// Whether a file that is still being written is whole by now; says nothing of whether it is valid.
    public func isComplete(_ path: String) -> Bool { CompletenessCheck.isComplete(path) }

    /// Runs `body` with a file to restore: the file of that name, or, if there is none, the backup of that name as an archive.
    public func withSource(
        named source: String, _ body: (_ path: String, _ name: String, _ origin: ImportOrigin) throws -> Void
    ) throws {
        if let status = FileSystem.statusIfPresent(source) {
            guard status.kind == .regular else {
                throw BackupError(
                    .isADirectory, "this is not a file", path: source, remedy: "Name a .json, .zip or .sqlite file.")
            }
            try body(source, FileSystem.lastComponent(source), .foreign)
            return
        }
        guard !source.contains("/") else {
            throw BackupError(.notFound, "there is no such file", path: source, remedy: "Check the path.")
        }
        let snapshot = try store.snapshot(named: source)
        let folder = try WorkFolder(in: store.paths.spool)
        defer { folder.remove() }
        let path = "\(folder.path)/archive.zip"
        try ExportOperation(store: store, snapshotName: source).write(.archive(.zip), to: path)
        try body(path, snapshot.name.description, .ownRepository)
    }
}
