import AppData
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
        try move(DirectoryReader(path: media.stagingPath), FolderHandle(path: media.stagingPath), to: target, media)
        try target.synchronizeFileSystem()
    }

    private static func move(
        _ reader: borrowing DirectoryReader, _ source: FolderHandle, to target: FolderHandle, _ media: RestoreJournal.Media
    ) throws(BackupError) {
        let names = try reader.names()
        let coming = Set(names)
        // Until the folder's files are there: their logs come after them.
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
            // The app may have made something of that name since the restore looked.
            if try MediaMove.aside(name, source, to: target) != name { renamed.insert(name) }
        }
    }

    /// The log of a database that has another name by now, or was changed meanwhile, is kept beside the media folder.
    private static func separate(
        _ log: FileName, _ source: FolderHandle, _ media: RestoreJournal.Media
    ) throws(BackupError) {
        let parent = try FolderHandle(path: FileSystem.parentPath(media.keptPath))
        let kept = try parent.openFolderMakingIt(FileName(FileSystem.lastComponent(media.keptPath)))
        try MediaUnit.separate(log, source, in: kept)
        try parent.synchronize()
    }
}
