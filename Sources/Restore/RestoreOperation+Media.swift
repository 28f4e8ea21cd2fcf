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

    /// Unpacks the media beside the folder that they are for. The journal is written before anything is made: then a crash leaves nothing that
    /// nobody knows of. Does nothing when the file brings no media, or the app has none.
    func stageMedia(
        _ checked: CheckedImport, _ media: inout MediaPreparation, _ journal: inout RestoreJournal
    ) throws(BackupError) {
        guard let mediaPath, let archive = checked.archive, archive.hasMedia else { return }
        let parent = FileSystem.parentPath(mediaPath)
        let status = try FileSystem.status(mediaPath)
        guard status.kind == .directory, try FileSystem.status(parent).device == status.device else {
            throw BackupError(
                .notSupported, "the media folder cannot be replaced in one step, since it is a link or a disk of its own",
                path: mediaPath, remedy: "Use a plain folder as the app's media folder.")
        }
        let staging = MediaFolder.stagingPath(of: mediaPath, operation: journal.operation)
        // No inode yet: a journal in this state is undone, whatever happens.
        journal.media = RestoreJournal.Media(
            kind: media.plan == nil ? .exchange : .addition, path: mediaPath, stagingPath: staging, stagedInode: 0)
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
            try archive.stageMedia(in: staging)
        }
        // Who restores as root leaves the app its files.
        if geteuid() == 0 { try FileSystem.setOwner(ofTree: staging, status.owner, status.group) }
        try folder.synchronizeFileSystem()
        journal.media?.stagedInode = try folder.status().inode
    }
}
