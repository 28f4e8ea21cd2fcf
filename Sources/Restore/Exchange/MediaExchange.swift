import AppData
import BackupCore
import Glibc
import SystemIO

/// Publishes staged media, and cleans up.
enum MediaExchange {
    /// Durable when it returns; a no-op when already done. The records have been committed.
    /// - Throws: `notFound` when the staged files are gone: then nothing is changed.
    /// - Parameter moved: records the files that are moved out of the folder.
    static func publish(
        _ media: RestoreJournal.Media, _ database: AppDatabase, moved: MovedMedia = MovedMedia()
    ) throws(BackupError) {
        switch media.kind {
        case .addition: try MediaAddition.publish(media)
        case .content:
            try content(media, DatabaseAmongMedia(database: database.path, media: media.path), moved).publish()
        case .exchange: try exchangeFolders(media)
        }
    }

    /// Makes the end of a transaction durable. SQLite removes the rollback journal but leaves the fsync of the folder to a later
    /// one (except with `PRAGMA synchronous = EXTRA`): if a power cut brought the journal back, it would roll back the records,
    /// but not the media.
    static func synchronizeCommit(of database: AppDatabase) throws(BackupError) {
        do {
            try FileSystem.synchronizeDirectory(FileSystem.parentPath(database.realPath()))
        } catch let error where error.code == .accessDenied || error.code == .notFound {
            // A folder that cannot be opened for reading cannot be synced.
        }
    }

    private static func content(
        _ media: RestoreJournal.Media, _ amongMedia: DatabaseAmongMedia, _ moved: MovedMedia = MovedMedia()
    ) -> MediaContentExchange {
        MediaContentExchange(mediaPath: media.path, stagingPath: media.stagingPath, amongMedia: amongMedia, moved: moved)
    }

    /// For a restore that was interrupted in an older version, which exchanged whole folders.
    private static func exchangeFolders(_ media: RestoreJournal.Media) throws(BackupError) {
        if try FileSystem.status(media.path).inode == media.stagedInode { return }
        guard let staged = try FileSystem.look(media.stagingPath), staged.inode == media.stagedInode else {
            throw BackupError(
                .notFound, "the media folder that a restore had prepared no longer exists", path: media.stagingPath,
                remedy:
                    "The records are those of the restored file. Check the app's media, and then remove restore.journal from the store."
            )
        }
        try FileSystem.exchange(media.stagingPath, media.path)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(media.path))
    }

    /// Removes the replaced media at the staging path after the new ones were published. Removes only what the safety backup
    /// holds.
    /// - Parameter moved: what is known of the files that were moved out of the folder.
    /// - Returns: the folder with the kept files; `nil` when there are none.
    static func removeReplaced(
        _ media: RestoreJournal.Media, isSaved: @escaping SavedMedia.Check, moved: MovedMedia = MovedMedia()
    ) throws(BackupError) -> String? {
        var replaced = ReplacedMedia(isSaved: isSaved, moved: moved, keptPath: media.keptPath)
        switch media.kind {
        case .addition: break
        case .exchange: try replaced.remove(media.stagingPath)
        case .content:
            replaced.placePath = media.path
            try replaced.remove(content(media, .none).oldPath)
            try keepAside(media)
        }
        return try removeStaging(media)
    }

    /// Brings back the old media and removes the staged ones: the records are the old ones.
    /// - Returns: the folder with the kept files of the app, and of already published media; `nil` when there are none.
    @discardableResult
    static func undo(_ media: RestoreJournal.Media) throws(BackupError) -> String? {
        switch media.kind {
        case .addition: break
        case .exchange: try exchangeFoldersBack(media)
        case .content:
            let content = content(media, .none)
            try content.undo()
            try keepAside(media)
            // Fails unless it is empty: its content exists nowhere else.
            if try FileSystem.exists(content.oldPath) {
                try DirectoryHandle(path: media.stagingPath, followsLink: false).removeFolder(
                    FileName(FileSystem.lastComponent(content.oldPath)))
            }
        }
        return try removeStaging(media)
    }

    private static func keepAside(_ media: RestoreJournal.Media) throws(BackupError) {
        // Files that stayed are in their places again.
        try ReplacedMedia(
            isSaved: { _ in false }, moved: MovedMedia(), keptPath: media.keptPath,
            placePath: media.path
        ).remove(content(media, .none).asidePath)
    }

    /// In two steps: the kept folder shows that the first one is done.
    private static func exchangeFoldersBack(_ media: RestoreJournal.Media) throws(BackupError) {
        guard media.stagedInode != 0, try FileSystem.look(media.stagingPath) != nil else { return }
        if try FileSystem.look(media.path)?.inode == media.stagedInode { try FileSystem.rename(media.path, to: media.keptPath) }
        if try FileSystem.look(media.path) == nil, try FileSystem.look(media.keptPath)?.inode == media.stagedInode {
            try FileSystem.rename(media.stagingPath, to: media.path)
        }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(media.path))
    }

    private static func removeStaging(_ media: RestoreJournal.Media) throws(BackupError) -> String? {
        try FileSystem.removeTree(media.stagingPath)
        return try FileSystem.identityIfPresent(media.keptPath) == nil ? nil : media.keptPath
    }
}

/// Moves staged media files to their places, beside existing ones. Each move is atomic and replaces nothing; an interrupted
/// restore resumes with the files that are still staged.
enum MediaAddition {
    /// Durable when it returns
    /// - Throws: `notFound` when the staged files are gone.
    static func publish(_ media: RestoreJournal.Media) throws(BackupError) {
        guard let staged = try FileSystem.look(media.stagingPath), staged.inode == media.stagedInode else {
            throw BackupError(
                .notFound, "the media files that a restore had prepared no longer exist", path: media.stagingPath,
                remedy:
                    "The records are those of the restored file. Check the app's media, and then remove restore.journal from the store."
            )
        }
        let target = try DirectoryHandle(path: media.path, followsLink: false)
        try move(DirectoryHandle(path: media.stagingPath, followsLink: false), to: target, media)
        try target.descriptor.synchronizeFileSystem()
    }

    private static func move(
        _ source: DirectoryHandle, to target: DirectoryHandle, _ media: RestoreJournal.Media
    ) throws(BackupError) {
        let names = try source.names()
        let coming = Set(names)
        // Held until the folder's files are in place: their logs come after them.
        var holds: [AdvisoryLock] = []
        defer { withExtendedLifetime(holds) {} }
        var renamed: Set<FileName> = []
        for name in names {
            let isFolder = try source.status(name).kind == .directory
            if isFolder, let present = try target.openFolder(name), let staged = try source.openDirectoryIfPresent(name) {
                try move(staged, to: present, media)
                continue
            }
            try FaultInjection.reached("restore.file-published")
            if let database = DatabaseLogs.database(of: name) {
                let isLeft =
                    coming.contains(database)
                    ? renamed.contains(database) : try MediaUnit.isSeparated(name, in: source, from: database, in: target)
                if isLeft {
                    try separate(name, source, media)
                    continue
                }
            }
            if !isFolder, DatabaseLogs.names(of: name).contains(where: coming.contains),
                let hold = MediaUnit.hold(name, in: source)
            {
                holds.append(hold)
            }
            // The app may have created something with that name since the restore checked.
            if try MediaMove.aside(name, source, to: target) != name { renamed.insert(name) }
        }
    }

    /// Keeps a log beside the media folder if its database was renamed or has changed meanwhile.
    private static func separate(
        _ log: FileName, _ source: DirectoryHandle, _ media: RestoreJournal.Media
    ) throws(BackupError) {
        let parent = try DirectoryHandle(path: FileSystem.parentPath(media.keptPath), followsLink: false)
        let kept = try parent.openOrMakeFolder(FileName(FileSystem.lastComponent(media.keptPath)))
        try MediaUnit.separate(log, source, in: kept)
        try parent.synchronize()
    }
}
