import AppData
import BackupCore
import Glibc
import SystemIO

/// A database and its logs on the way into a folder, which takes several steps: an app may open the database between them, and would then find a log
/// that does not belong to what it has made of it. So nobody else gets at the database while its logs come, and after a crash a log comes only
/// to a database that is unchanged. One that cannot come is kept in a folder of its own: beside another database it would destroy that.
enum MediaUnit {
    /// In the folder for what is kept.
    static let separatedName: FileName = "separated-logs"

    /// Keeps programs from reading and writing a database, as SQLite's own locks do, for as long as the result lives.
    /// - Returns: `nil` when a program uses it, when it may not be written to, or where there are no locks.
    static func hold(_ database: FileName, in folder: FolderHandle) -> AdvisoryLock? {
        guard let file = try? folder.reader().open(database, O_RDWR | O_NONBLOCK) else { return nil }
        return AdvisoryLock(holding: file)
    }

    /// Whether a log was left behind by a crash after its database had gone to its place, and the database may have been changed there since.
    static func isSeparated(_ log: FileName, in folder: FolderHandle, from database: FileName, in place: FolderHandle)
        throws(BackupError) -> Bool
    {
        guard let status = try folder.status(log), let present = try place.status(database), present.kind == .regular else {
            return false
        }
        // Who has opened it without this log has made another one.
        if place.isLocked(database) { return try place.status(log) != nil }
        // The log was moved or made at its change time. Where there is none it cannot be told.
        let reader = try folder.reader()
        return FileSystem.keepsChangeTime(reader.descriptor) && present.modificationTime > status.changeTime
    }

    /// - Parameter kept: the folder for what is kept.
    static func separate(_ log: FileName, _ folder: FolderHandle, in kept: FolderHandle) throws(BackupError) {
        let separated = try kept.openFolderMakingIt(separatedName)
        try MediaMove.aside(log, folder, to: separated)
        for changed in [separated, kept] { try changed.synchronize() }
    }
}

/// What was staged as databases with logs, read from the exchange's list when it is first asked for.
final class StagedDatabases {
    private let listPath: String
    private var entries: [[FileName]: StagedEntries.Entry]?

    init(listPath: String) { self.listPath = listPath }

    /// - Returns: `nil` for what was staged without a log.
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
    /// Brings in a file, and its logs after it.
    /// - Parameter path: the folder's, in the media folder.
    func bringInUnit(
        _ names: [FileName], _ staged: FolderHandle, _ folder: FolderHandle, _ old: FolderHandle,
        _ amongMedia: DatabaseAmongMedia,
        at path: [FileName], _ databases: StagedDatabases
    ) throws(BackupError) {
        let hold = names.count > 1 ? names.first.flatMap { MediaUnit.hold($0, in: staged) } : nil
        defer { withExtendedLifetime(hold) {} }
        for name in names {
            try FaultInjection.reached("restore.file-brought-in")
            // Its database is in its place by now, or a restore that was interrupted had brought it there.
            if let database = DatabaseLogs.database(of: name), let entry = try databases.entry(path + [database]),
                try staged.status(database) == nil, [.regular, nil].contains(try folder.status(database)?.kind)
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
        _ log: FileName, of database: FileName, _ entry: StagedEntries.Entry, _ hold: AdvisoryLock?, _ staged: FolderHandle,
        _ folder: FolderHandle, _ old: FolderHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        let hold = hold ?? MediaUnit.hold(database, in: folder)
        defer { withExtendedLifetime(hold) {} }
        guard let present = try folder.status(database), entry.isUnchanged(present), hold != nil || !folder.isLocked(database)
        else { return try MediaUnit.separate(log, staged, in: FolderHandle(path: asidePath)) }
        try bringIn(log, staged, folder, old, amongMedia)
    }
}
