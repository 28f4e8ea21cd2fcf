import AppData
import BackupCore
import SystemIO

/// Ensures that changes which the app commits between the safety backup and the restore's transaction are saved too, or that nothing is replaced.
final class RecordsGuard {
    private let database: AppDatabase
    /// The file that the safety backup was made from.
    private let file: FileIdentity?
    private var watch: DatabaseWatch?
    /// Whether the restore has reached its transaction.
    private(set) var hasBegun = false

    /// Begins before the safety backup.
    init(_ database: AppDatabase) throws(BackupError) {
        self.database = database
        file = try FileSystem.identityIfPresent(database.path)
        watch = try DatabaseWatch(database)
    }

    /// A program that writes a new file and renames it over the database makes no commit that a connection could see. The path may be a link, which stays
    /// the same when its target is replaced.
    private func requireSameFile() throws(BackupError) {
        guard try FileSystem.identityIfPresent(database.path) != file else { return }
        throw Self.inUse(
            "another program replaced the database's file while the restore was about to replace its records", database)
    }

    private static func inUse(_ what: Message, _ database: AppDatabase) -> BackupError {
        BackupError(
            .databaseInUse, what, path: database.path, remedy: "Close the app, or wait, and try again. Nothing was changed.")
    }

    /// For the transaction that excludes other writers.
    /// - Parameter save: makes another safety backup; called if there was a commit since the last one.
    func saveWhatCame(by save: () throws(BackupError) -> Void) throws(BackupError) {
        hasBegun = true
        defer { end() }
        try requireSameFile()
        if let watch, try watch.hasChanged() { try save() }
    }

    /// The same while other programs can still write: call it again later.
    func saveWhatCameSoFar(by save: () throws(BackupError) -> Void) throws(BackupError) {
        hasBegun = true
        guard let watch, try watch.hasChanged() else { return }
        watch.close()
        self.watch = try DatabaseWatch(database)
        try save()
    }

    /// Releases the database for an operation that needs exclusive access, such as leaving the write-ahead log. Commits meanwhile cannot be seen: a new watch
    /// begins, and everything is saved once more.
    func withoutConnection(
        _ body: () throws(BackupError) -> Void, savingBy save: () throws(BackupError) -> Void
    ) throws(BackupError) {
        hasBegun = true
        end()
        try body()
        watch = try DatabaseWatch(database)
        try save()
    }

    /// For the moment when no other program can read, so that nothing can be saved either.
    /// - Throws: `databaseInUse` if there was a commit since the last safety backup.
    func requireNothingNew() throws(BackupError) {
        defer { end() }
        try requireSameFile()
        guard let watch, try watch.hasChanged() else { return }
        throw Self.inUse("the app changed its database while the restore was about to replace it", database)
    }

    /// The connection must be closed before the transaction ends.
    func end() {
        watch?.close()
        watch = nil
    }
}
