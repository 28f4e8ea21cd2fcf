import AppData
import BackupCore
import Glibc
import SystemIO

extension Store {
    /// Makes what the app has lost and a restore fills: an empty database, an empty media folder. Does nothing to what is there, however
    /// damaged.
    /// - Throws: `alreadyExists` when a log of the lost database is there: it may hold all that is left of the data.
    func makeMissingParts() throws(BackupError) {
        if try !database.exists(), !definition.migrations.isEmpty || definition.coversWholeDatabase {
            let realPath = try database.realPath()
            for suffix in DatabaseLogs.logSuffixes {
                guard let left = try FileSystem.look(realPath + suffix), left.size > 0 else { continue }
                throw BackupError(
                    .alreadyExists, "the database is not there, but its log is", path: realPath + suffix,
                    remedy: "It may hold data that no backup has: move it to a safe place, and restore again.")
            }
            try makeParent(of: database.path)
            if definition.coversWholeDatabase {
                // Nobody has described its tables: they come with the restore. An empty file is an empty database.
                _ = try OwnedDescriptor.open(database.path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
            } else {
                _ = try AppDatabase.create(at: database.path, definition: definition)
            }
        }
        if let mediaPath, try FileSystem.lookBehindLinks(mediaPath) == nil {
            try makeParent(of: mediaPath)
            try FileSystem.makeDirectories(mediaPath)
        }
    }

    /// Folders outside of the store may be of a disk that is not mounted: they are not made.
    private func makeParent(of path: String) throws(BackupError) {
        let parent = FileSystem.parentPath(path)
        if path.hasPrefix(paths.root + "/") {
            try FileSystem.makeDirectories(parent)
        } else if try !FileSystem.exists(parent) {
            throw BackupError(
                .notFound, "the folder of the app's data is not there", path: parent,
                remedy: "Mount its disk, or make the folder.")
        }
    }
}
