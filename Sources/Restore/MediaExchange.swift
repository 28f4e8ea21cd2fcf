import BackupCore
import SystemIO

/// Puts what was staged of media where it belongs, and clears away what is left.
enum MediaExchange {
    /// Durable when it returns; does nothing when it is done already.
    /// - Throws: `notFound` when what was staged is not there any more: then nothing is touched.
    /// - Parameter moved: gets to know what is moved out of the folder.
    static func publish(
        _ media: RestoreJournal.Media, _ amongMedia: DatabaseAmongMedia, moved: MovedMedia = MovedMedia()
    ) throws(BackupError) {
        switch media.kind {
        case .addition: try MediaAddition.publish(media)
        case .content: try content(media, amongMedia, moved).publish()
        case .exchange: try exchangeFolders(media)
        }
    }

    private static func content(
        _ media: RestoreJournal.Media, _ amongMedia: DatabaseAmongMedia, _ moved: MovedMedia
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

    /// Removes what lies at the staging path. Before the media were published that is what was staged; afterwards it is what they have replaced, of
    /// which only goes what the safety backup holds.
    /// - Parameters:
    ///   - isSaved: `nil` when nothing was published.
    ///   - moved: what is known of the files that were moved out of the folder.
    /// - Returns: the folder with what was kept; `nil` when nothing was.
    @discardableResult
    static func removeStaged(
        _ media: RestoreJournal.Media, isSaved: SavedMedia.Check?, moved: MovedMedia = MovedMedia()
    ) throws(BackupError) -> String? {
        let keptPath = media.keptPath
        if let isSaved, media.kind != .addition {
            let content = content(media, .none, moved)
            let root = media.kind == .content ? content.oldPath : media.stagingPath
            if try FileSystem.identityIfPresent(root) != nil {
                try ReplacedMedia(isSaved: isSaved, moved: moved, keptPath: keptPath).remove(in: root)
            }
        }
        try FileSystem.removeTree(media.stagingPath)
        return try FileSystem.identityIfPresent(keptPath) == nil ? nil : keptPath
    }
}
