import AppData
import BackupCore
import Glibc
import SystemIO

/// Exchanges the content of a media folder, entry by entry, for the staged one. The folder itself stays, so that a mount on it, a
/// container that uses it, and a program whose working directory it is see the restored files.
///
/// In the staging folder, `new` holds the new entries, and `old` gets the existing ones. First, entries without a successor are
/// taken out; when that is durable, the file `emptied` records it. Then each staged entry is brought in, after the entry of its
/// name has been taken out. Every step is a rename that replaces nothing, and the location of each entry shows what is left to
/// do: it may be interrupted anywhere and run again.
///
/// A database's logs (`DatabaseLogs`) leave with the database, right before its successor comes: a restored database must not
/// meet another database's log. Its own logs come right after it (`MediaUnit`).
struct MediaContentExchange {
    let mediaPath: String
    let stagingPath: String
    let amongMedia: DatabaseAmongMedia
    /// Records each file that is moved out.
    var moved = MovedMedia()

    var newPath: String { "\(stagingPath)/new" }
    var oldPath: String { "\(stagingPath)/old" }
    /// Entries that were in the place of old entries when these came back.
    var asidePath: String { "\(stagingPath)/aside" }
    /// The list of staged entries (`StagedEntries`).
    private var listPath: String { "\(stagingPath)/entries" }
    /// The same file, renamed when no entry without a successor is left: the rename needs no space.
    var markPath: String { "\(stagingPath)/emptied" }

    /// Creates the folders; the staging folder exists.
    func prepare() throws(BackupError) {
        for path in [newPath, oldPath, asidePath] { try FileSystem.makeDirectory(path) }
    }

    /// Records the staged entries. Durable when it returns; an earlier list is there until then.
    /// - Parameter inodes: of files that stay in their places.
    func recordStaged(without inodes: Set<UInt64> = []) throws(BackupError) {
        let draftPath = "\(stagingPath)/entries-draft"
        try StagedEntries(of: newPath, amongMedia, without: inodes).write(to: draftPath)
        try FileSystem.rename(draftPath, to: listPath)
        try FileSystem.synchronizeDirectory(stagingPath)
    }

    /// Durable when it returns; a no-op when already done.
    /// - Throws: `notFound` when the staged files are gone: then nothing is changed.
    func publish() throws(BackupError) {
        for path in [newPath, oldPath] where try FileSystem.identityIfPresent(path) == nil {
            throw BackupError(
                .notFound, "the media files that a restore had prepared no longer exist", path: stagingPath,
                remedy:
                    "If their disk is not mounted, mount it. If they are lost, check the app's media, and then remove restore.journal from the store."
            )
        }
        let (media, new, old) = (
            try DirectoryHandle(path: mediaPath, followsLink: false), try DirectoryHandle(path: newPath, followsLink: false),
            try DirectoryHandle(path: oldPath, followsLink: false)
        )
        if try FileSystem.identityIfPresent(markPath) == nil {
            try takeOut(media, new, to: old, amongMedia)
            for folder in [media, old] { try folder.synchronize() }
            try FaultInjection.reached("restore.media-emptied")
            try mark()
        }
        try bringIn(new, media, old, amongMedia, at: [], StagedDatabases(listPath: markPath))
        for folder in [media, old, new] { try folder.synchronize() }
    }

    private func mark() throws(BackupError) {
        if try FileSystem.exists(listPath) {
            try FileSystem.rename(listPath, to: markPath)
        } else {
            // Staged by an older version.
            try OwnedDescriptor.open(markPath, O_WRONLY | O_CREAT).synchronize()
        }
        try FileSystem.synchronizeDirectory(stagingPath)
    }

    /// Takes out entries without a staged successor. In reverse order: a database's logs go before it, so if it is gone, so are
    /// they.
    /// - Parameter staged: the staged folder, if there is one.
    private func takeOut(
        _ folder: DirectoryHandle, _ staged: DirectoryHandle?, to old: DirectoryHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        let coming = Set(try staged?.names() ?? [])
        for name in try folder.names().reversed() where !amongMedia.hides(name) {
            if amongMedia.isBelow(name) {
                guard let inner = try folder.openFolder(name) else { continue }
                let target = try old.openOrMakeFolder(name)
                try takeOut(inner, staged?.openFolder(name), to: target, amongMedia.entering(name))
                for changed in [inner, target] { try changed.synchronize() }
                continue
            }
            if coming.contains(name) { continue }
            // Belongs to a running program.
            if try folder.statusIfPresent(name)?.isSocket == true { continue }
            if try leavesWithDatabase(name, coming, folder, staged, amongMedia) { continue }
            try FaultInjection.reached("restore.file-taken-out")
            try takeOut(name, folder, to: old)
        }
    }

    /// Whether a file is, by its name, the log of a database that is exchanged, or of one that a staged entry replaces: `bringIn`
    /// takes it out.
    private func leavesWithDatabase(
        _ name: FileName, _ coming: Set<FileName>, _ folder: DirectoryHandle, _ staged: DirectoryHandle?,
        _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) -> Bool {
        guard let database = DatabaseLogs.database(of: name), coming.contains(database), !amongMedia.isBelow(database) else {
            return false
        }
        if try staged?.statusIfPresent(database)?.kind == .regular { return true }
        return try folder.statusIfPresent(database)?.kind == .regular
    }

    private func takeOut(_ name: FileName, _ folder: DirectoryHandle, to old: DirectoryHandle) throws(BackupError) {
        let before = try folder.statusIfPresent(name)
        guard let newName = try MediaMove.aside(name, folder, to: old), let before, let after = try old.statusIfPresent(newName)
        else {
            return
        }
        moved.record(before, after)
    }

    /// Brings in the staged entries.
    /// - Parameter path: the folder's path in the media folder
    private func bringIn(
        _ staged: DirectoryHandle, _ folder: DirectoryHandle, _ old: DirectoryHandle, _ amongMedia: DatabaseAmongMedia,
        at path: [FileName],
        _ databases: StagedDatabases
    ) throws(BackupError) {
        let names = try staged.names()
        let coming = Set(names)
        var done: Set<FileName> = []
        for name in names where !done.contains(name) {
            if amongMedia.isBelow(name), let inner = try folder.openFolder(name), let source = try staged.openFolder(name) {
                let target = try old.openOrMakeFolder(name)
                try bringIn(source, inner, target, amongMedia.entering(name), at: path + [name], databases)
                for changed in [inner, source, target] { try changed.synchronize() }
                continue
            }
            let unit = try [name] + logs(of: name, coming, staged)
            try bringInUnit(unit, staged, folder, old, amongMedia, at: path, databases)
            done.formUnion(unit)
            for log in DatabaseLogs.names(of: name) where !coming.contains(log) && !amongMedia.hides(log) {
                try takeOutForeignLog(log, of: name, folder, old)
            }
        }
        // A program that had the old database open may have created its log only then.
        for log in try folder.names() where !coming.contains(log) && !amongMedia.hides(log) {
            guard let database = DatabaseLogs.database(of: log), coming.contains(database), !amongMedia.isBelow(database) else {
                continue
            }
            try takeOutForeignLog(log, of: database, folder, old)
        }
    }

    /// The staged logs of a staged file.
    private func logs(of name: FileName, _ coming: Set<FileName>, _ staged: DirectoryHandle) throws(BackupError) -> [FileName] {
        let logs = DatabaseLogs.names(of: name).filter(coming.contains)
        guard !logs.isEmpty, try staged.statusIfPresent(name)?.kind == .regular else { return [] }
        var files: [FileName] = []
        for log in logs where try staged.statusIfPresent(log)?.kind == .regular { files.append(log) }
        return files
    }

    /// A new log beside a restored database is foreign, unless the app has the restored one open: with a log, it holds a lock on
    /// the database. Beside a folder or a link it is an ordinary file.
    private func takeOutForeignLog(
        _ log: FileName, of database: FileName, _ folder: DirectoryHandle, _ old: DirectoryHandle
    ) throws(BackupError) {
        guard try folder.statusIfPresent(log) != nil, try folder.statusIfPresent(database)?.kind == .regular,
            !folder.isLocked(database)
        else {
            return
        }
        try takeOut(log, folder, to: old)
    }

    /// The app may create something with that name at any moment: it is taken out as well.
    func bringIn(
        _ name: FileName, _ staged: DirectoryHandle, _ folder: DirectoryHandle, _ old: DirectoryHandle,
        _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        for _ in 1...MediaMove.tryLimit {
            let (present, status) = (try folder.statusIfPresent(name), try staged.statusIfPresent(name))
            // A file has both names after a crash during a move by hard link.
            if let present, let status, FileIdentity(present) == FileIdentity(status) { return try staged.removeFile(name) }
            if present?.kind == .regular || status?.kind == .regular {
                for log in DatabaseLogs.names(of: name) where !amongMedia.hides(log) { try takeOut(log, folder, to: old) }
            }
            try takeOut(name, folder, to: old)
            do {
                return try staged.move(name, to: folder, as: name)
            } catch let error where error.code == .alreadyExists {
                try Cancellation.check()
            }
        }
        throw MediaMove.tooManyTries("\(folder.path)/\(name)")
    }
}
