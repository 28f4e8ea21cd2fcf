import BackupCore
import Glibc
import SystemIO

/// The place of a lost database, and the empty logs that it may have left there. A program that had the database open still has
/// the logs open: its commits go into them, and would be read as part of a new database beside them.
struct LostPlace {
    /// For a program that only reads briefly, such as another backupfs.
    private static let patienceNanoseconds: UInt64 = 1_000_000_000

    let folder: DirectoryHandle
    let name: FileName
    private let path: String
    /// The names of its logs, and their names while they are set aside.
    private let logs: [(name: FileName, aside: FileName)]

    /// - Parameters:
    ///   - realPath: without links; its folder exists.
    ///   - logsAside: the names from an earlier restore; `nil` for new names.
    init(_ realPath: String, logsAside: [FileName]? = nil) throws(BackupError) {
        path = realPath
        folder = try DirectoryHandle(path: FileSystem.realPath(FileSystem.parentPath(realPath)), followsLink: false)
        name = FileName(FileSystem.lastComponent(realPath))
        let names = DatabaseLogs.names(of: name)
        logs = Array(zip(names, logsAside ?? names.map { _ in Self.draftName() }))
    }

    /// The files in the folder until the database exists.
    func files(_ way: RecreationFiles.Way, draft: FileName = Self.draftName()) -> RecreationFiles {
        RecreationFiles(databasePath: "\(folder.path)/\(name)", way: way, draft: draft, logsAside: logs.map(\.aside))
    }

    /// A name like that of staged media, which backups leave out: the database may be among the media, and a crash leaves the
    /// file there.
    static func draftName() -> FileName { FileName("\(draftPrefix)\(RandomToken.make())") }

    static func isDraft(_ name: FileName) -> Bool {
        name.bytes.starts(with: draftPrefix.utf8) && RandomToken.isToken(name.bytes.dropFirst(draftPrefix.utf8.count))
    }

    private static let draftPrefix = ".backupfs-staging-"

    /// Runs `body`, which puts a database here, while no log has the name of one of its logs. Existing logs are moved aside and
    /// not emptied, so that a program that still writes to one loses nothing. They are removed once the database exists and none
    /// of them is in use. After an error they get their names back, except beside a database that a program has created
    /// meanwhile: it would be read with them. After a crash the database is lost as before, and `putBackLogs` restores their
    /// names.
    /// - Throws: `busy` while a program has the lost database open; `alreadyExists` when a log contains data; errors of `body`.
    ///   The error names logs that stay aside.
    func withoutLogs(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        try requireUnused(logs.map(\.name))
        var moved: [(name: FileName, aside: FileName)] = []
        // Until then, the moved logs may belong to a database that a program was creating.
        var areOfLost = false
        do throws(BackupError) {
            for file in logs {
                guard try folder.statusIfPresent(file.name) != nil else { continue }
                try requireEmpty(file.name, called: file.name)
                try folder.move(file.name, to: folder, as: file.aside)
                moved.append(file)
            }
            // Before the database gets its name: after a crash it must not be beside them.
            if !moved.isEmpty { try folder.synchronize() }
            for file in moved { try requireEmpty(file.aside, called: file.name) }
            // Includes the database's own name: a program that creates one locks it before it creates a journal.
            try requireUnused(moved.map(\.aside) + [name])
            for file in logs where try folder.statusIfPresent(file.name) != nil { throw inUse }
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

    /// For recovery after a crash in `withoutLogs`.
    func putBackLogs() {
        let aside = logs.filter { (try? folder.statusIfPresent($0.aside)) != .some(nil) }
        if !aside.isEmpty { _ = putBack(aside, areOfLost: true) }
    }

    /// - Returns: those that stay aside
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

    /// Whether a program has created a database here: it has pages, or a program is about to write some.
    private func isMade() -> Bool {
        do throws(BackupError) {
            guard let status = try folder.statusIfPresent(name) else { return false }
            return status.kind != .regular || status.size > 0 || folder.isLocked(name)
        } catch {
            return true
        }
    }

    /// An index that stays aside contains no data of its own.
    private func naming(_ left: [(name: FileName, aside: FileName)], in error: BackupError) -> BackupError {
        guard let log = left.first(where: { DatabaseLogs.isLog($0.name.bytes) }) else { return error }
        let place: Message =
            "The log \(MessageText.name(log.name.bytes)) of the lost database is \(MessageText.name(log.aside.bytes)) now: keep it until you know that it holds nothing you need."
        let remedy: Message = .joined((error.remedy.map { [$0] } ?? []) + [place], separator: " ")
        return error.with(remedy: remedy)
    }

    private func mayRemove(_ file: FileName, called name: FileName) -> Bool {
        (try? requireEmpty(file, called: name)) != nil && !folder.isLocked(file)
    }

    /// The index of a log contains no data of its own.
    private func requireEmpty(_ file: FileName, called name: FileName) throws(BackupError) {
        guard let status = try folder.statusIfPresent(file) else { return }
        guard status.kind == .regular, status.size == 0 || !DatabaseLogs.isLog(name.bytes) else {
            throw OrphanedLog.error("\(folder.path)/\(name)")
        }
    }

    /// Each program that has a database with a log open holds a lock on the index of the log (SQLite's "dead man switch").
    private func requireUnused(_ files: [FileName]) throws(BackupError) {
        let end = SystemClock.monotonicNanoseconds() + Self.patienceNanoseconds
        while files.contains(where: { folder.isLocked($0) }) {
            guard SystemClock.monotonicNanoseconds() < end else { throw inUse }
            try Cancellation.check()
            usleep(20_000)
        }
    }

    /// The error when a lost database exists again.
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
