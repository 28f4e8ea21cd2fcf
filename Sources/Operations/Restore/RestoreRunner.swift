import AppData
import BackupCore
import BackupRepository
import Export
import Restore
import SystemIO

/// Restores into a store: one at a time, with a safety backup and a report.
public struct RestoreRunner: Sendable {
    /// File and database together: up to it a preview runs all strategies.
    private static let cheapLimitBytes: UInt64 = 16 << 20

    private let store: Store
    private let restoresSettings: Bool?

    /// - Parameter restoresSettings: whether settings are restored; `nil` for what the app's definition says.
    public init(store: Store, restoresSettings: Bool? = nil) {
        self.store = store
        self.restoresSettings = restoresSettings
    }

    /// What a restore does when nobody says otherwise.
    public var defaultStrategy: ImportStrategy { store.definition.defaultStrategy }

    /// All that the app has, the default first.
    public var strategies: [ImportStrategy] { store.definition.strategies }

    /// Checks a file and tells what restoring it would do, to the number. Changes nothing and waits for nobody.
    /// - Parameters:
    ///   - strategy: `nil` for the app's own.
    ///   - comparesOthers: whether what the app's other strategies would do is told as well, where that costs little.
    /// - Throws: what is wrong with the file.
    public func preview(
        path: String, name: String, origin: ImportOrigin = .foreign, strategy: ImportStrategy? = nil, comparesOthers: Bool = false
    ) throws(BackupError) -> RestoreReport {
        let strategy = try chosen(strategy)
        let startedAt = SystemClock.now()
        return try store.withWorkFolder { (folder) throws(BackupError) in
            var report = RestoreReport(
                result: .preview, fileName: name, startedAt: startedAt, finishedAt: startedAt, strategy: strategy)
            do throws(BackupError) {
                let checked = try check(path, origin, strategy, in: folder)
                report.checked = checked
                report.outcome = try operation(in: folder).rehearse(checked)
                if comparesOthers, isCheap(path) { report.others = try others(path, origin, than: strategy, in: folder) }
            } catch {
                throw error.at(name)
            }
            report.finishedAt = SystemClock.now()
            return report
        }
    }

    /// Whether running all strategies on copies takes no time worth speaking of.
    private func isCheap(_ path: String) -> Bool {
        let sizes = [path, store.database.path].map { FileSystem.statusIfPresent($0)?.size ?? 0 }
        return sizes.reduce(0, +) <= Self.cheapLimitBytes
    }

    /// A strategy that cannot be used with this file is left out.
    private func others(
        _ path: String, _ origin: ImportOrigin, than strategy: ImportStrategy, in folder: String
    ) throws(BackupError) -> [RestoreOutcome] {
        var outcomes: [RestoreOutcome] = []
        for other in strategies where other != strategy {
            let folder = "\(folder)/\(other.rawValue)"
            try FileSystem.makeDirectories(folder)
            guard let checked = try? check(path, origin, other, in: folder),
                let outcome = try? operation(in: folder).rehearse(checked)
            else { continue }
            outcomes.append(outcome)
        }
        return outcomes
    }

    /// - Throws: `notSupported` for a strategy that the app does not have.
    private func chosen(_ strategy: ImportStrategy?) throws(BackupError) -> ImportStrategy {
        guard let strategy, !strategies.contains(strategy) else { return strategy ?? defaultStrategy }
        throw BackupError(
            .notSupported, "\(store.definition.title) has no strategy \(strategy.rawValue)",
            remedy: "Choose one of: \(strategies.map(\.rawValue).joined(separator: ", ")).")
    }

    /// Brings a file into the app's data. `restore/last.*` tell how it went, also when it throws.
    /// - Throws: `busy` while another operation runs (then nothing is reported: the report is the other's); what is wrong with the file; what went
    ///   wrong on the way. The data is as it was then, unless the report says `unfinished`.
    public func run(
        path: String, name: String, origin: ImportOrigin = .foreign, strategy: ImportStrategy? = nil, progress: ProgressHandler?
    ) throws(BackupError) -> RestoreReport {
        let strategy = try chosen(strategy)
        let lock = try store.lockForOperation()
        defer { withExtendedLifetime(lock) {} }
        // Left by a crash of another process, or by a database that was locked at the time.
        try store.recoverRestore()
        var report = RestoreReport(
            result: .refused, fileName: name, startedAt: SystemClock.now(), finishedAt: SystemClock.now(), strategy: strategy)
        report.undoFolder = store.undoFolder
        do {
            try store.monitor.run("restore", phase: "Restoring data...", progress) { (notify) throws(BackupError) in
                try store.withWorkFolder { (folder) throws(BackupError) in
                    let operation = operation(in: folder)
                    let checked = try check(path, origin, strategy, in: folder)
                    report.checked = checked
                    report.result = .failed
                    try store.makeMissingParts()
                    let backup = BackupOperation(store: store)
                    try operation.run(checked, fileName: name, report: notify, outcome: { report.outcome = $0 }) {
                        () throws(BackupError) in
                        let made = try backup.make(.safety, label: nil, tag: nil, notify).snapshot
                        report.safetyBackup = store.safetyFile(of: made).name
                        return made.id
                    }
                }
            }
        } catch let error where !finishIfCommitted(&report) {
            report.error = error
            report.finishedAt = SystemClock.now()
            try? store.conclude(report)
            throw error.at(name)
        } catch {}
        report.result = .success
        report.finishedAt = SystemClock.now()
        // The data is new. What cannot be tidied up now is no failure of the restore: the next start does it.
        try? tidyUp(report)
        return report
    }

    private func tidyUp(_ report: RestoreReport) throws(BackupError) {
        try store.conclude(report)
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
            return recovered.outcome == .completed
        } catch {
            report.result = .unfinished
        }
        return false
    }

    /// Checks a file. One that is refused because anybody may have made it is looked at again: the safety backup that a report offers as the
    /// way back must be taken, whatever it holds.
    private func check(
        _ path: String, _ origin: ImportOrigin, _ strategy: ImportStrategy, in folder: String
    ) throws(BackupError) -> CheckedImport {
        do {
            return try operation(in: folder).check(path, origin: origin, strategy: strategy)
        } catch {
            guard origin == .foreign, error.code == .invalidContent || error.code == .tooLarge,
                (try? OwnArchive(repository: store.repository).isArchive(path)) == true
            else { throw error }
            // The first look may have left an export in the folder.
            let folder = "\(folder)/own"
            try FileSystem.makeDirectories(folder)
            return try operation(in: folder).check(path, origin: .ownRepository, strategy: strategy)
        }
    }

    private func operation(in folder: String) -> RestoreOperation {
        RestoreOperation(
            database: store.database, mediaPath: store.mediaPath, journalPath: store.paths.restoreJournal, workPath: folder,
            restoresSettings: restoresSettings)
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
