import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// What the app has lost and a restore fills: the database, an empty media folder. Nothing is done to what is there, however damaged.
///
/// The database is made of the backup's own, so that what only the app knows comes back: tables and columns that the definition does not name, indexes,
/// triggers, version numbers. Where there is none that could be used, it is made by the definition, and empty.
struct MissingParts {
    let store: Store
    let isDatabaseLost: Bool
    /// A copy of the backup's database, which becomes the app's; `nil` where the app's is there, or is made by other means.
    let databaseCopy: String?

    /// Changes nothing of the app's.
    /// - Parameters:
    ///   - backup: finds the database of the backup that is restored; `nil` where the file is of none.
    ///   - workPath: a folder for the copy.
    init(of store: Store, from backup: () -> StoredDatabase?, workPath: String) throws(BackupError) {
        self.store = store
        isDatabaseLost = try store.database.isLost()
        databaseCopy =
            isDatabaseLost && !store.definition.coversWholeDatabase
            ? try Self.copy(backup(), to: "\(workPath)/lost.sqlite", for: store.database) : nil
    }

    /// - Returns: `nil` where there is no database in the backup that could be used.
    private static func copy(
        _ backup: StoredDatabase?, to path: String, for database: AppDatabase
    ) throws(BackupError) -> String? {
        guard let backup else { return nil }
        do throws(BackupError) {
            guard try backup.write(to: path) else { return nil }
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return nil
        }
        return database.canBeRecreated(from: path) ? path : nil
    }

    /// - Throws: `alreadyExists` when a log of the lost database is there: it may hold all that is left of the data. `notSupported` when there is no way
    ///   to make one.
    func requireMakeable() throws(BackupError) {
        guard isDatabaseLost else { return }
        try store.database.requireNoLogOfLost()
        guard store.definition.coversWholeDatabase || databaseCopy != nil || !store.definition.migrations.isEmpty else {
            throw cannotMakeDatabase
        }
    }

    /// - Returns: what is to be said of it if the restore fails afterwards; `nil` when the data is as it was.
    /// - Throws: `busy` when a program has made the database meanwhile, or still has the lost one open; as `requireMakeable`.
    func make() throws(BackupError) -> Message? {
        var made: Message?
        if isDatabaseLost { made = try makeDatabase() }
        if let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) == nil {
            try makeParent(of: mediaPath)
            try FileSystem.makeDirectories(mediaPath)
            NewFileOwner.giveToOwnerOfFolder(mediaPath)
        }
        return made
    }

    private func makeDatabase() throws(BackupError) -> Message? {
        let database = store.database
        guard try database.isLost() else { throw database.madeMeanwhile }
        try requireMakeable()
        try makeParent(of: database.path)
        if let databaseCopy {
            try database.recreate(from: databaseCopy)
            if store.keepsOwnDatabase { upgrade() }
            return
                "The database, which was lost, is there again as the backup has it. The rest was not restored: restore again."
        }
        try database.makeEmpty()
        // Nobody has described the tables of a whole database: they come with the restore.
        guard !store.definition.coversWholeDatabase else { return nil }
        _ = try AppDatabase.create(at: database.path, definition: store.definition)
        return nil
    }

    /// The app that the database in the store belongs to is this program.
    private func upgrade() {
        let database = store.database
        guard !store.definition.migrations.isEmpty, (try? database.hasPendingMigrations()) == true else { return }
        _ = try? AppDatabase.create(at: database.path, definition: store.definition)
    }

    private var cannotMakeDatabase: BackupError {
        BackupError(
            .notSupported,
            "the app's database is not there, and neither the file nor the app's definition tells how to make its tables",
            path: store.database.path,
            remedy:
                "Restore a backup by its name. If its database is damaged: backupfs restore NAME --target FOLDER, put FOLDER/database.sqlite in the database's place, and restore again."
        )
    }

    /// Folders outside of the store may be of a disk that is not mounted: they are not made.
    private func makeParent(of path: String) throws(BackupError) {
        let parent = FileSystem.parentPath(path)
        if path.hasPrefix(store.paths.root + "/") {
            try FileSystem.makeDirectories(parent)
        } else if try !FileSystem.exists(parent) {
            throw BackupError(
                .notFound, "the folder of the app's data is not there", path: parent,
                remedy: "Mount its disk, or make the folder.")
        }
    }
}
