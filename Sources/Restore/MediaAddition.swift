import AppData
import BackupCore
import Glibc
import SystemIO

/// Moves staged media files to their places, beside existing ones. Each move is atomic and replaces nothing; an interrupted restore resumes with the
/// files that are still staged.
enum MediaAddition {
    /// Durable when it returns
    /// - Throws: `notFound` when the staged files are gone.
    static func publish(_ media: RestoreJournal.Media) throws(BackupError) {
        guard let staged = try FileSystem.look(media.stagingPath), staged.inode == media.stagedInode else {
            throw BackupError(
                .notFound, "the media files that a restore had prepared are not there any more", path: media.stagingPath,
                remedy:
                    "The records are those of the restored file. Check the app's media, and then remove restore.journal from the store."
            )
        }
        let target = try FolderHandle(path: media.path)
        try move(DirectoryReader(path: media.stagingPath), FolderHandle(path: media.stagingPath), to: target, media)
        try target.synchronizeFileSystem()
    }

    private static func move(
        _ reader: borrowing DirectoryReader, _ source: FolderHandle, to target: FolderHandle, _ media: RestoreJournal.Media
    ) throws(BackupError) {
        let names = try reader.names()
        let coming = Set(names)
        // Held until the folder's files are in place: their logs come after them.
        var holds: [AdvisoryLock] = []
        defer { withExtendedLifetime(holds) {} }
        var renamed: Set<FileName> = []
        for name in names {
            let isFolder = try reader.status(name).kind == .directory
            if isFolder, let present = try target.openFolder(name), let staged = try source.open(name) {
                try move(reader.openDirectory(name), staged, to: present, media)
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
        _ log: FileName, _ source: FolderHandle, _ media: RestoreJournal.Media
    ) throws(BackupError) {
        let parent = try FolderHandle(path: FileSystem.parentPath(media.keptPath))
        let kept = try parent.openOrMakeFolder(FileName(FileSystem.lastComponent(media.keptPath)))
        try MediaUnit.separate(log, source, in: kept)
        try parent.synchronize()
    }
}
