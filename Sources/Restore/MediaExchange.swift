import BackupCore
import SystemIO

/// Puts what was staged of media where it belongs: in the old folder's place, by one rename, or beside the old files.
enum MediaExchange {
    /// - Returns: whether the staged folder is in place already.
    static func isDone(_ media: RestoreJournal.Media) throws(BackupError) -> Bool {
        try FileSystem.status(media.path).inode == media.stagedInode
    }

    /// Durable when it returns; does nothing when it is done already.
    /// - Throws: `notFound` when the staged folder is at neither place: then nothing is touched.
    static func publish(_ media: RestoreJournal.Media) throws(BackupError) {
        if media.kind == .addition { return try MediaAddition.publish(media) }
        if try isDone(media) { return }
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

    /// Removes what lies at the staging path: the old folder after the exchange, the new one before it.
    static func removeStaged(_ media: RestoreJournal.Media) throws(BackupError) {
        try FileSystem.removeTree(media.stagingPath)
    }
}
