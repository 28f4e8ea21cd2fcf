import AppData
import BackupCore
import Glibc
import SystemIO

/// Exchanges what a media folder holds, entry by entry, for what was staged. The folder itself stays, so that a mount on it, a container that
/// has it, and a program that stands in it see the restored files.
///
/// Of the staging folder, `new` holds what is to come, and `old` gets what was there. First what has no successor is taken out; when that is
/// durable the file `emptied` says so; then each staged entry is brought in, after the entry of its name has been taken out. Every step is a
/// rename that replaces nothing, and where each entry lies tells what is still to be done: it may be interrupted anywhere and run again.
///
/// A database's logs (`DatabaseLogs`) leave with the database, right before its successor comes: a restored database must not meet another one's log.
/// Its own come right after it (`MediaUnit`).
struct MediaContentExchange {
    let mediaPath: String
    let stagingPath: String
    let amongMedia: DatabaseAmongMedia
    /// Gets to know each file that is moved out.
    var moved = MovedMedia()

    var newPath: String { "\(stagingPath)/new" }
    var oldPath: String { "\(stagingPath)/old" }
    /// What lies in the place of old entries when they come back.
    var asidePath: String { "\(stagingPath)/aside" }
    /// What is staged (`StagedEntries`).
    private var listPath: String { "\(stagingPath)/entries" }
    /// The same file, when nothing is left without a successor: then it needs no room.
    var markPath: String { "\(stagingPath)/emptied" }

    /// Makes the folders; the staging folder is there.
    func prepare() throws(BackupError) {
        for path in [newPath, oldPath, asidePath] { try FileSystem.makeDirectory(path) }
    }

    /// Notes what was staged.
    func noteStaged() throws(BackupError) { try StagedEntries(of: newPath, amongMedia).write(to: listPath) }

    /// Durable when it returns; does nothing when it is done already.
    /// - Throws: `notFound` when the staged files are not there any more: then nothing is touched.
    func publish() throws(BackupError) {
        for path in [newPath, oldPath] where try FileSystem.identityIfPresent(path) == nil {
            throw BackupError(
                .notFound, "the media files that a restore had prepared are not there any more", path: stagingPath,
                remedy:
                    "If their disk is not mounted, mount it. If they are lost, check the app's media, and then remove restore.journal from the store."
            )
        }
        let (media, new, old) = (
            try FolderHandle(path: mediaPath), try FolderHandle(path: newPath), try FolderHandle(path: oldPath)
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

    /// Takes out what nothing that is staged replaces. Backwards: a database's logs go before it, and if it has gone, so have they.
    /// - Parameter staged: the staged folder, if there is one.
    private func takeOut(
        _ folder: FolderHandle, _ staged: FolderHandle?, to old: FolderHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        let coming = Set(try staged?.reader().names() ?? [])
        for name in try folder.reader().names().reversed() where !amongMedia.hides(name) {
            if amongMedia.isBelow(name) {
                guard let inner = try folder.openFolder(name) else { continue }
                let target = try old.openFolderMakingIt(name)
                try takeOut(inner, staged?.openFolder(name), to: target, amongMedia.entering(name))
                for changed in [inner, target] { try changed.synchronize() }
                continue
            }
            if coming.contains(name) { continue }
            // Of a program that runs.
            if try folder.status(name)?.isSocket == true { continue }
            if try leavesWithDatabase(name, coming, folder, staged, amongMedia) { continue }
            try FaultInjection.reached("restore.file-taken-out")
            try takeOut(name, folder, to: old)
        }
    }

    /// Whether a file is, by its name, the log of a database that is exchanged, or of one that what is staged replaces: `bringIn` takes it out.
    private func leavesWithDatabase(
        _ name: FileName, _ coming: Set<FileName>, _ folder: FolderHandle, _ staged: FolderHandle?,
        _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) -> Bool {
        guard let database = DatabaseLogs.database(of: name), coming.contains(database), !amongMedia.isBelow(database) else {
            return false
        }
        if try staged?.status(database)?.kind == .regular { return true }
        return try folder.status(database)?.kind == .regular
    }

    private func takeOut(_ name: FileName, _ folder: FolderHandle, to old: FolderHandle) throws(BackupError) {
        let before = try folder.status(name)
        guard let newName = try MediaMove.aside(name, folder, to: old), let before, let after = try old.status(newName) else {
            return
        }
        moved.note(before, after)
    }

    /// Brings in what is staged.
    /// - Parameter path: the folder's, in the media folder.
    private func bringIn(
        _ staged: FolderHandle, _ folder: FolderHandle, _ old: FolderHandle, _ amongMedia: DatabaseAmongMedia,
        at path: [FileName],
        _ databases: StagedDatabases
    ) throws(BackupError) {
        let names = try staged.reader().names()
        let coming = Set(names)
        var done: Set<FileName> = []
        for name in names where !done.contains(name) {
            if amongMedia.isBelow(name), let inner = try folder.openFolder(name), let source = try staged.openFolder(name) {
                let target = try old.openFolderMakingIt(name)
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
        // One that had the old database open may have made its log only then.
        for log in try folder.reader().names() where !coming.contains(log) && !amongMedia.hides(log) {
            guard let database = DatabaseLogs.database(of: log), coming.contains(database), !amongMedia.isBelow(database) else {
                continue
            }
            try takeOutForeignLog(log, of: database, folder, old)
        }
    }

    /// The staged logs of a staged file.
    private func logs(of name: FileName, _ coming: Set<FileName>, _ staged: FolderHandle) throws(BackupError) -> [FileName] {
        let logs = DatabaseLogs.names(of: name).filter(coming.contains)
        guard !logs.isEmpty, try staged.status(name)?.kind == .regular else { return [] }
        var files: [FileName] = []
        for log in logs where try staged.status(log)?.kind == .regular { files.append(log) }
        return files
    }

    /// A log that has come beside a restored database is foreign, unless the app has the restored one open: with a log it holds a lock on the database.
    /// Beside a folder or a link it is a file like any other.
    private func takeOutForeignLog(
        _ log: FileName, of database: FileName, _ folder: FolderHandle, _ old: FolderHandle
    ) throws(BackupError) {
        guard try folder.status(log) != nil, try folder.status(database)?.kind == .regular, !folder.isLocked(database) else {
            return
        }
        try takeOut(log, folder, to: old)
    }

    /// The app may make something of that name at any moment: it is taken out as well.
    func bringIn(
        _ name: FileName, _ staged: FolderHandle, _ folder: FolderHandle, _ old: FolderHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) {
        for _ in 1...MediaMove.tryLimit {
            let (present, status) = (try folder.status(name), try staged.status(name))
            // A file has both names after a crash where it moves by way of a second name.
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
