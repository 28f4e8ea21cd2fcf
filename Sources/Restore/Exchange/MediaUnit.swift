import AppData
import BackupCore
import Glibc
import SystemIO

/// A database and its logs on the way into a folder. That takes several steps: an app may open the database between them, change
/// it, and then find a log that no longer belongs to it. So no other program can use the database while its logs come, and after
/// a crash a log comes only to an unchanged database. A log that cannot come is kept in a separate folder: it would destroy
/// another database beside it.
enum MediaUnit {
    /// In the folder for kept files.
    static let separatedName: FileName = "separated-logs"

    /// Whether a file may be a database by its name: an encrypted one has no header.
    static func mayBeDatabase(_ path: [UInt8]) -> Bool {
        [".db", ".db3", ".sqlite", ".sqlite3", ".s3db", ".sl3"].contains { ending in
            path.count >= ending.utf8.count
                && path.suffix(ending.utf8.count).elementsEqual(ending.utf8) { $0 == $1 || $0 | 0x20 == $1 }
        }
    }

    /// Keeps programs from reading and writing a database, as SQLite's own locks do, for the lifetime of the result.
    /// - Returns: `nil` when a program uses it, when it is not writable, or where there are no locks.
    static func hold(_ database: FileName, in folder: DirectoryHandle) -> AdvisoryLock? {
        guard let file = try? folder.open(database, O_RDWR | O_NONBLOCK) else { return nil }
        return AdvisoryLock(holding: file)
    }

    /// Whether a crash left a log behind after its database had gone to its place, and the database may have been changed there
    /// since.
    static func isSeparated(_ log: FileName, in folder: DirectoryHandle, from database: FileName, in place: DirectoryHandle)
        throws(BackupError) -> Bool
    {
        guard let status = try folder.statusIfPresent(log), let present = try place.statusIfPresent(database),
            present.kind == .regular
        else {
            return false
        }
        // A program that opened it without this log has created another one.
        if place.isLocked(database) { return try place.statusIfPresent(log) != nil }
        // The log was moved or created at its change time. If the file system keeps none, the answer is unknown.
        return FileSystem.keepsChangeTime(folder.descriptor) && present.modificationTime > status.changeTime
    }

    /// - Parameter kept: the folder for kept files
    static func separate(_ log: FileName, _ folder: DirectoryHandle, in kept: DirectoryHandle) throws(BackupError) {
        let separated = try kept.openOrMakeFolder(separatedName)
        try MediaMove.aside(log, folder, to: separated)
        for changed in [separated, kept] { try changed.synchronize() }
    }
}

/// The staged databases with logs, read from the exchange's list on first use.
final class StagedDatabases {
    private let listPath: String
    private var entries: [[FileName]: StagedEntries.Entry]?

    init(listPath: String) { self.listPath = listPath }

    /// - Returns: `nil` for an entry that was staged without a log.
    func entry(_ path: [FileName]) throws(BackupError) -> StagedEntries.Entry? {
        if let entries { return entries[path] }
        let all = try StagedEntries(at: listPath).entries
        var databases: Set<[FileName]> = []
        for entry in all {
            guard let name = entry.path.last, let database = DatabaseLogs.database(of: name) else { continue }
            databases.insert(Array(entry.path.dropLast()) + [database])
        }
        var entries: [[FileName]: StagedEntries.Entry] = [:]
        for entry in all where databases.contains(entry.path) { entries[entry.path] = entry }
        self.entries = entries
        return entries[path]
    }
}

extension MediaContentExchange {
    /// Brings in a file, followed by its logs.
    /// - Parameter path: the folder's path in the media folder
    func bringInUnit(
        _ names: [FileName], _ staged: DirectoryHandle, _ folder: DirectoryHandle, _ old: DirectoryHandle,
        _ amongMedia: DatabaseAmongMedia,
        at path: [FileName], _ databases: StagedDatabases
    ) throws(BackupError) {
        let hold = names.count > 1 ? names.first.flatMap { MediaUnit.hold($0, in: staged) } : nil
        defer { withExtendedLifetime(hold) {} }
        for name in names {
            try FaultInjection.reached("restore.file-brought-in")
            // Its database is already in place, or an interrupted restore had brought it there.
            if let database = DatabaseLogs.database(of: name), let entry = try databases.entry(path + [database]),
                try staged.statusIfPresent(database) == nil, [.regular, nil].contains(try folder.statusIfPresent(database)?.kind)
            {
                try bringInLog(name, of: database, entry, hold, staged, folder, old, amongMedia)
            } else {
                try bringIn(name, staged, folder, old, amongMedia)
            }
        }
    }

    /// Brings in a log whose database has been brought in.
    /// - Parameters:
    ///   - entry: the database as it was staged.
    ///   - hold: on the database, if it was brought in just now.
    private func bringInLog(
        _ log: FileName, of database: FileName, _ entry: StagedEntries.Entry, _ hold: AdvisoryLock?, _ staged: DirectoryHandle,
        _ folder: DirectoryHandle, _ old: DirectoryHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        let hold = hold ?? MediaUnit.hold(database, in: folder)
        defer { withExtendedLifetime(hold) {} }
        guard let present = try folder.statusIfPresent(database), entry.isUnchanged(present),
            hold != nil || !folder.isLocked(database)
        else { return try MediaUnit.separate(log, staged, in: DirectoryHandle(path: asidePath, followsLink: false)) }
        try bringIn(log, staged, folder, old, amongMedia)
    }
}
