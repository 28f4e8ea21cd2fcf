import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

extension Store {
    /// Makes what the app has lost and a restore fills: the database, an empty media folder. Does nothing to what is there, however damaged.
    ///
    /// The database is made of the backup's own, so that what only the app knows comes back: tables and columns that the definition does not name, indexes,
    /// triggers, version numbers. Where there is none that could be used, it is made by the definition, and empty.
    /// - Parameters:
    ///   - backup: the database of the backup that is restored; `nil` where the file is of none.
    ///   - workPath: a folder for a copy.
    /// - Throws: `alreadyExists` when a log of the lost database is there: it may hold all that is left of the data. `notFound` when neither way makes one.
    func makeMissingParts(of backup: StoredDatabase?, workPath: String) throws(BackupError) {
        if try database.isLost() {
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
                if try !database.exists() {
                    _ = try OwnedDescriptor.open(database.path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
                    NewFileOwner.giveToOwnerOfFolder(realPath)
                }
            } else if try !recreateDatabase(of: backup, workPath) {
                guard !definition.migrations.isEmpty else { throw cannotMakeDatabase }
                let isNew = try !database.exists()
                _ = try AppDatabase.create(at: database.path, definition: definition)
                if isNew { NewFileOwner.giveToOwnerOfFolder(realPath) }
            }
        }
        if let mediaPath, try FileSystem.lookBehindLinks(mediaPath) == nil {
            try makeParent(of: mediaPath)
            try FileSystem.makeDirectories(mediaPath)
            NewFileOwner.giveToOwnerOfFolder(mediaPath)
        }
    }

    /// - Returns: whether there is a database in the backup that could be used.
    private func recreateDatabase(of backup: StoredDatabase?, _ workPath: String) throws(BackupError) -> Bool {
        guard let backup else { return false }
        let copy = "\(workPath)/lost.sqlite"
        defer { try? FileSystem.removeFile(copy) }
        do throws(BackupError) {
            guard try backup.write(to: copy) else { return false }
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return false
        }
        guard database.canBeRecreated(from: copy) else { return false }
        try database.recreate(from: copy)
        if keepsOwnDatabase { upgradeLostDatabase() }
        return true
    }

    /// The app that the database in the store belongs to is this program.
    private func upgradeLostDatabase() {
        guard !definition.migrations.isEmpty, (try? database.hasPendingMigrations()) == true else { return }
        _ = try? AppDatabase.create(at: database.path, definition: definition)
    }

    private var cannotMakeDatabase: BackupError {
        BackupError(
            .notSupported,
            "the app's database is not there, and neither the file nor the app's definition tells how to make its tables",
            path: database.path,
            remedy:
                "Restore a backup by its name. If its database is damaged: backupfs restore NAME --target FOLDER, put FOLDER/database.sqlite in the database's place, and restore again."
        )
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
