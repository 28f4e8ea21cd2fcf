import BackupCore
import Glibc
import SystemIO

/// The place of a lost database, and the empty logs that it may have left there. A program that had the database open still has them: what it commits goes
/// into them, and would be read as part of a database that is put beside them.
struct LostPlace {
    /// For a program that only looks, such as another backupfs.
    private static let patienceNanoseconds: UInt64 = 1_000_000_000

    let folder: FolderHandle
    let name: FileName
    private let path: String
    /// The names of its logs, and what they are called while they are set aside.
    private let logs: [(name: FileName, aside: FileName)]

    /// - Parameters:
    ///   - realPath: without links; its folder is there.
    ///   - logsAside: what an earlier restore has called them; names of this one's own else.
    init(_ realPath: String, logsAside: [FileName]? = nil) throws(BackupError) {
        path = realPath
        folder = try FolderHandle(path: FileSystem.realPath(FileSystem.parentPath(realPath)))
        name = FileName(FileSystem.lastComponent(realPath))
        let names = DatabaseLogs.names(of: name)
        logs = Array(zip(names, logsAside ?? names.map { _ in Self.draftName() }))
    }

    /// What is in the folder until the database is there.
    func files(_ way: RecreationFiles.Way, draft: FileName = Self.draftName()) -> RecreationFiles {
        RecreationFiles(databasePath: "\(folder.path)/\(name)", way: way, draft: draft, logsAside: logs.map(\.aside))
    }

    /// A name as staged media have it, which backups leave out: the database may lie among the media, and a crash leaves the file there.
    static func draftName() -> FileName { FileName("\(draftPrefix)\(RandomToken.make())") }

    static func isDraft(_ name: FileName) -> Bool {
        name.bytes.starts(with: draftPrefix.utf8) && RandomToken.isToken(name.bytes.dropFirst(draftPrefix.utf8.count))
    }

    private static let draftPrefix = ".backupfs-staging-"

    /// Runs `body`, which puts a database here, while no log has the name of one of its logs. Those that were there are moved aside and not emptied, so that
    /// nothing is taken from a program that still writes to one; they are removed once the database is there and none of them is in use. After an error they
    /// have their names again, except beside a database that a program has made meanwhile: it would be read with them. After a crash the database is lost
    /// as before, and `putBackLogs` gives them their names.
    /// - Throws: `busy` while a program has the lost database open; `alreadyExists` when there are data in a log; what `body` throws. The error names logs
    ///   that stay aside.
    func withoutLogs(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        try requireUnused(logs.map(\.name))
        var moved: [(name: FileName, aside: FileName)] = []
        // Until then, what was moved may be of a database that a program was making.
        var areOfLost = false
        do throws(BackupError) {
            for file in logs {
                guard try folder.status(file.name) != nil else { continue }
                try requireEmpty(file.name, called: file.name)
                try folder.move(file.name, to: folder, as: file.aside)
                moved.append(file)
            }
            // Before the database gets its name: after a crash it must not lie beside them.
            if !moved.isEmpty { try folder.synchronize() }
            for file in moved { try requireEmpty(file.aside, called: file.name) }
            // With the place of the database: a program that makes one holds a lock on it before it makes a journal.
            try requireUnused(moved.map(\.aside) + [name])
            for file in logs where try folder.status(file.name) != nil { throw inUse }
            guard !isMade() else { throw Self.madeMeanwhile(path) }
            areOfLost = true
            try FaultInjection.reached("lost.logs-aside")
            try body()
            try FaultInjection.reached("lost.database-named")
        } catch {
            throw naming(putBack(moved, areOfLost: areOfLost), in: error)
        }
        for file in moved where mayRemove(file.aside, called: file.name) { try? folder.removeFile(file.aside) }
    }

    /// After a crash in `withoutLogs`.
    func putBackLogs() {
        let aside = logs.filter { (try? folder.status($0.aside)) != .some(nil) }
        if !aside.isEmpty { _ = putBack(aside, areOfLost: true) }
    }

    /// - Returns: those that stay aside.
    private func putBack(_ moved: [(name: FileName, aside: FileName)], areOfLost: Bool) -> [(name: FileName, aside: FileName)] {
        let staysAside = areOfLost && isMade()
        let left = moved.reversed().filter { file in
            guard staysAside else { return (try? folder.move(file.aside, to: folder, as: file.name)) == nil }
            guard mayRemove(file.aside, called: file.name) else { return true }
            return (try? folder.removeFile(file.aside)) == nil
        }
        try? folder.synchronize()
        return left
    }

    /// Whether there is a database of a program here: it has pages, or a program is about to write some.
    private func isMade() -> Bool {
        do throws(BackupError) {
            guard let status = try folder.status(name) else { return false }
            return status.kind != .regular || status.size > 0 || folder.isLocked(name)
        } catch {
            return true
        }
    }

    /// An index that stays aside holds nothing of its own.
    private func naming(_ left: [(name: FileName, aside: FileName)], in error: BackupError) -> BackupError {
        guard let log = left.first(where: { DatabaseLogs.isLog($0.name.bytes) }) else { return error }
        let place: Message =
            "The log \(MessageText.name(log.name.bytes)) of the lost database is \(MessageText.name(log.aside.bytes)) now: keep it until you know that it holds nothing you need."
        let remedy: Message = .joined((error.remedy.map { [$0] } ?? []) + [place], separator: " ")
        return BackupError(error.code, error.message, path: error.path, remedy: remedy, findings: error.findings)
    }

    private func mayRemove(_ file: FileName, called name: FileName) -> Bool {
        (try? requireEmpty(file, called: name)) != nil && !folder.isLocked(file)
    }

    /// The index of a log holds nothing of its own.
    private func requireEmpty(_ file: FileName, called name: FileName) throws(BackupError) {
        guard let status = try folder.status(file) else { return }
        guard status.kind == .regular, status.size == 0 || !DatabaseLogs.isLog(name.bytes) else {
            throw OrphanedLog.error("\(folder.path)/\(name)")
        }
    }

    /// Each program that has a database with a log open holds a lock on the index of the log for as long (SQLite's "dead man switch").
    private func requireUnused(_ files: [FileName]) throws(BackupError) {
        let end = SystemClock.monotonicNanoseconds() + Self.patienceNanoseconds
        while files.contains(where: { folder.isLocked($0) }) {
            guard SystemClock.monotonicNanoseconds() < end else { throw inUse }
            try Cancellation.check()
            usleep(20_000)
        }
    }

    /// That a database which was lost is there by now.
    static func madeMeanwhile(_ path: String) -> BackupError {
        BackupError(
            .busy, "another program has made the database that was lost, in the middle of the restore", path: path,
            remedy: "Nothing was changed. Restore again: what the program has written is saved first then.")
    }

    private var inUse: BackupError {
        BackupError(
            .busy, "a program still has the lost database open", path: path,
            remedy: "Stop the app first, and restore again: what it writes would damage the restored database.")
    }
}
