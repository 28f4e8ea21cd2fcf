import AppData
import BackupCore
import SystemIO

/// Puts what was staged of media where it belongs, and clears away what is left.
enum MediaExchange {
    /// Durable when it returns; does nothing when it is done already. The records have been committed.
    /// - Throws: `notFound` when what was staged is not there any more: then nothing is touched.
    /// - Parameter moved: gets to know what is moved out of the folder.
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

    /// Makes durable that a transaction has ended. A rollback journal is removed then, which SQLite leaves to the next fsync of the folder (but for
    /// `PRAGMA synchronous = EXTRA`): if a power cut brought it back, the records would go back, and not the media.
    static func synchronizeCommit(of database: AppDatabase) throws(BackupError) {
        do {
            try FileSystem.synchronizeDirectory(FileSystem.parentPath(database.realPath()))
        } catch let error where error.code == .accessDenied || error.code == .notFound {
            // A folder that cannot be opened for reading cannot be synchronized.
        }
    }

    private static func content(
        _ media: RestoreJournal.Media, _ amongMedia: DatabaseAmongMedia, _ moved: MovedMedia = MovedMedia()
    ) -> MediaContentExchange {
        MediaContentExchange(mediaPath: media.path, stagingPath: media.stagingPath, amongMedia: amongMedia, moved: moved)
    }

    /// As older versions did, one of which may have been interrupted.
    private static func exchangeFolders(_ media: RestoreJournal.Media) throws(BackupError) {
        if try FileSystem.status(media.path).inode == media.stagedInode { return }
        guard let staged = try FileSystem.look(media.stagingPath), staged.inode == media.stagedInode else {
            throw BackupError(
                .notFound, "the media folder that a restore had prepared is not there any more", path: media.stagingPath,
                remedy:
                    "The records are those of the restored file. Check the app's media, and then remove restore.journal from the store."
            )
        }
        try FileSystem.exchange(media.stagingPath, media.path)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(media.path))
    }

    /// Clears away what lies at the staging path after the media were published: what they have replaced, of which only goes what the safety backup holds.
    /// - Parameter moved: what is known of the files that were moved out of the folder.
    /// - Returns: the folder with what was kept; `nil` when nothing was.
    static func removeReplaced(
        _ media: RestoreJournal.Media, isSaved: @escaping SavedMedia.Check, moved: MovedMedia = MovedMedia()
    ) throws(BackupError) -> String? {
        let replaced = ReplacedMedia(isSaved: isSaved, moved: moved, keptPath: media.keptPath)
        switch media.kind {
        case .addition: break
        case .exchange: try replaced.remove(media.stagingPath)
        case .content:
            try replaced.remove(content(media, .none).oldPath)
            try keepAside(media)
        }
        return try removeStaging(media)
    }

    /// Brings back what was taken out, and clears away what was staged: the records are the old ones.
    /// - Returns: the folder with what was kept of the app's, and of what was published already; `nil` when nothing was.
    @discardableResult
    static func undo(_ media: RestoreJournal.Media) throws(BackupError) -> String? {
        switch media.kind {
        case .addition: break
        case .exchange: try exchangeFoldersBack(media)
        case .content:
            let content = content(media, .none)
            try content.undo()
            try keepAside(media)
            // Fails unless it is empty: what lies there is in no other place.
            if try FileSystem.exists(content.oldPath) {
                try FolderHandle(path: media.stagingPath).removeFolder(FileName(FileSystem.lastComponent(content.oldPath)))
            }
        }
        return try removeStaging(media)
    }

    private static func keepAside(_ media: RestoreJournal.Media) throws(BackupError) {
        try ReplacedMedia(isSaved: { _ in false }, moved: MovedMedia(), keptPath: media.keptPath).remove(
            content(media, .none).asidePath)
    }

    /// In two steps: the folder that is kept shows that the first is done.
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
