import AppData
import BackupCore
import Glibc
import SystemIO

/// Media files of a restore: made ready before the records are written.
extension RestoreOperation {
    /// What is to become of the file's media.
    func mediaPreparation(_ checked: CheckedImport) throws(BackupError) -> MediaPreparation {
        guard let mediaPath, let archive = checked.archive, archive.hasMedia else { return MediaPreparation() }
        // A folder that is lost holds nothing.
        guard checked.strategy != .replace, try FileSystem.exists(mediaPath) else {
            return MediaPreparation(allOf: archive.mediaFileCount)
        }
        return MediaPreparation(try MediaPlan(archive, in: mediaPath))
    }

    /// The media folder, without links.
    func realMediaPath() throws(BackupError) -> String? {
        guard let mediaPath else { return nil }
        return try FileSystem.realPath(mediaPath)
    }

    func databaseAmongMedia() throws(BackupError) -> DatabaseAmongMedia {
        guard let mediaPath else { return .none }
        return try DatabaseAmongMedia(database: database.path, media: mediaPath)
    }

    /// - Throws: `notSupported` when the media that are there could not be replaced.
    func requireExchangeable(_ checked: CheckedImport) throws(BackupError) {
        guard let mediaPath = try realMediaPath(), let archive = checked.archive, archive.hasMedia, checked.strategy == .replace,
            try FileSystem.identityIfPresent(mediaPath) != nil
        else { return }
        try MediaFolder.requireNoMounts(in: mediaPath)
        let amongMedia = try databaseAmongMedia()
        try archive.forEachMediaFile { (path, _) throws(BackupError) in
            guard amongMedia.needsFolder(at: path) else { return }
            throw BackupError(
                .notSupported, "the archive has a file in place of the folder that the app's database lies in",
                path: MessageText.name(path), remedy: "Restore it into another folder with --target.")
        }
    }

    /// Unpacks the media beside the folder that they are for. The journal is written before anything is made: then a crash leaves nothing that
    /// nobody knows of. Does nothing when the file brings no media, or the app has none.
    func stageMedia(
        _ checked: CheckedImport, _ media: inout MediaPreparation, _ journal: inout RestoreJournal
    ) throws(BackupError) {
        guard let mediaPath = try realMediaPath(), let archive = checked.archive, archive.hasMedia else { return }
        let status = try FileSystem.status(mediaPath)
        let staging = try MediaFolder.stagingPath(of: mediaPath, operation: journal.operation)
        // No inode yet: a journal in this state is undone, whatever happens.
        journal.media = RestoreJournal.Media(
            kind: media.plan == nil ? .content : .addition, path: mediaPath, stagingPath: staging, stagedInode: 0)
        try journal.write(to: journalPath)
        try FileSystem.makeDirectories(staging)
        let folder = try OwnedDescriptor.open(staging, O_RDONLY | O_DIRECTORY)
        try folder.setPermissions(mode_t(status.mode & 0o7777))
        try FaultInjection.reached("restore.staging-made")
        if var plan = media.plan {
            let files = plan
            try archive.stageMedia(
                in: staging, placingFile: { (path) throws(BackupError) in files.stagedPath(path) },
                placingFolder: { (path) throws(BackupError) in try plan.stagedFolder(path) })
        } else {
            let exchange = MediaContentExchange(
                mediaPath: mediaPath, stagingPath: staging, amongMedia: try databaseAmongMedia())
            try exchange.prepare()
            try archive.stageMedia(in: exchange.newPath)
        }
        // Who restores as root leaves the app its files.
        if geteuid() == 0 { try FileSystem.setOwner(ofTree: staging, status.owner, status.group) }
        try FileSystem.synchronizeTree(staging)
        journal.media?.stagedInode = try folder.status().inode
    }
}
