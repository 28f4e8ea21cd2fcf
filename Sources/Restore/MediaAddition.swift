import BackupCore
import Glibc
import SystemIO

/// Moves staged media files to where they belong, beside those that are there. Each move is one step and replaces nothing; a restore that was
/// interrupted goes on with what is still staged.
enum MediaAddition {
    /// Durable when it returns.
    /// - Throws: `notFound` when what was staged is not there any more.
    static func publish(_ media: RestoreJournal.Media) throws(BackupError) {
        guard let staged = try FileSystem.look(media.stagingPath), staged.inode == media.stagedInode else {
            throw BackupError(
                .notFound, "the media files that a restore had prepared are not there any more", path: media.stagingPath,
                remedy:
                    "The records are those of the restored file. Check the app's media, and then remove restore.journal from the store."
            )
        }
        let target = try FolderHandle(path: media.path)
        try move(DirectoryReader(path: media.stagingPath), FolderHandle(path: media.stagingPath), to: target)
        try target.synchronizeFileSystem()
    }

    private static func move(
        _ names: borrowing DirectoryReader, _ source: FolderHandle, to target: FolderHandle
    ) throws(BackupError) {
        for name in try names.names() {
            let isFolder = try names.status(name).kind == .directory
            if isFolder, let present = try target.openFolder(name), let staged = try source.open(name) {
                try move(names.openDirectory(name), staged, to: present)
                continue
            }
            try FaultInjection.reached("restore.file-published")
            // The app may have made something of that name since the restore looked.
            try MediaMove.aside(name, source, to: target)
        }
    }
}
