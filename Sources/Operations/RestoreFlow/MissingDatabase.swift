import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// What the app has lost and a restore fills in: the database, an empty media folder. Leaves existing parts alone, however
/// damaged.
///
/// The database is created from the backup's own database, so that data outside the definition comes back too: unnamed tables and
/// columns, indexes, triggers, version numbers. If no usable one exists, an empty one is created from the definition.
struct MissingDatabase {
    let store: Store
    let isDatabaseLost: Bool
    /// A copy of the backup's database, which becomes the app's; `nil` where the app's exists, or is created in another way.
    let databaseCopy: String?
    private let backup: () -> ImportSource
    private let record: RecreationRecord

    /// Changes nothing in the app's data.
    /// - Parameters:
    ///   - backup: finds what is known about the backup being restored.
    ///   - workPath: a folder for the copy.
    init(of store: Store, from backup: @escaping () -> ImportSource, workPath: String) throws(BackupError) {
        self.store = store
        self.backup = backup
        record = RecreationRecord(in: workPath)
        isDatabaseLost = try store.database.isLost()
        databaseCopy =
            isDatabaseLost && !store.definition.coversWholeDatabase
            ? try Self.copy(backup().backupDatabase, to: "\(workPath)/lost.sqlite", for: store.database) : nil
    }

    /// - Returns: `nil` if the backup has no usable database.
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

    /// - Throws: `alreadyExists` when a log of the lost database exists, which may hold all that is left of the data;
    ///   `notSupported` when there is no way to create one; `notFound` when a disk may not be mounted.
    func requireMakeable() throws(BackupError) {
        if let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) == nil { try requireParent(of: mediaPath) }
        guard isDatabaseLost else { return }
        try requireParent(of: store.database.path)
        try store.database.requireNoLogOfLost()
        guard store.definition.coversWholeDatabase || databaseCopy != nil || !store.definition.migrations.isEmpty else {
            throw cannotMakeDatabase
        }
    }

    /// - Parameter note: receives the message for the case that the restore fails afterwards, unless the data is then as it was.
    /// - Throws: `busy` when a program has created the database meanwhile, or still has the lost one open; as `requireMakeable`.
    func make(_ note: (Message) -> Void) throws(BackupError) {
        if isDatabaseLost, try !store.database.isLost() { throw store.database.madeMeanwhile }
        try requireMakeable()
        if isDatabaseLost { try makeDatabase(note) }
        if let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) == nil {
            try makeParent(of: mediaPath)
            try FileSystem.makeDirectories(mediaPath)
            if let media = backup().storedMedia {
                try media.giveMetadata(toMadeFolder: mediaPath)
            } else {
                NewFileOwner.giveToOwnerOfFolder(mediaPath)
            }
        }
    }

    private func makeDatabase(_ note: (Message) -> Void) throws(BackupError) {
        let database = store.database
        try makeParent(of: database.path)
        if let databaseCopy {
            try database.recreate(from: databaseCopy) { (files) throws(BackupError) in try record.write(files) }
            note(RecreationRecord.broughtBack)
            try FaultInjection.reached("lost.database-made")
            if store.keepsOwnDatabase { upgrade() }
            return
        }
        try database.makeEmpty { (files) throws(BackupError) in try record.write(files) }
        // The definition does not describe the tables of a whole database: they come with the restore.
        guard !store.definition.coversWholeDatabase else { return }
        _ = try AppDatabase.create(at: database.path, definition: store.definition)
    }

    /// For a database inside the store, this program is the app.
    private func upgrade() {
        let database = store.database
        guard !store.definition.migrations.isEmpty, (try? database.hasPendingMigrations()) == true else { return }
        _ = try? AppDatabase.create(at: database.path, definition: store.definition)
    }

    private var cannotMakeDatabase: BackupError {
        BackupError(
            .notSupported,
            "the app's database does not exist, and neither the file nor the app's definition describes its tables",
            path: store.database.path,
            remedy:
                "Restore a backup by its name. If its database is damaged: backupfs restore NAME --target FOLDER, put FOLDER/database.sqlite in the database's place, and restore again."
        )
    }

    /// Folders outside the store may belong to a disk that is not mounted: they are not created.
    private func makeParent(of path: String) throws(BackupError) {
        try requireParent(of: path)
        if isInStore(path) { try FileSystem.makeDirectories(FileSystem.parentPath(path)) }
    }

    private func requireParent(of path: String) throws(BackupError) {
        let parent = FileSystem.parentPath(path)
        guard !isInStore(path), try !FileSystem.exists(parent) else { return }
        throw BackupError(
            .notFound, "the folder of the app's data does not exist", path: parent,
            remedy: "Mount its disk, or make the folder.")
    }

    private func isInStore(_ path: String) -> Bool { path.hasPrefix(store.paths.root + "/") }
}
