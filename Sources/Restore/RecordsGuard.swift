import AppData
import BackupCore

/// Sees to it that what the app commits between the safety backup and the restore's transaction is saved as well, or that nothing is replaced.
final class RecordsGuard {
    private let database: AppDatabase
    private var watch: DatabaseWatch?
    /// Whether the restore has come to its transaction.
    private(set) var hasBegun = false

    /// Begins before the safety backup is made.
    init(_ database: AppDatabase) throws(BackupError) {
        self.database = database
        watch = try DatabaseWatch(database)
    }

    /// For the transaction that nobody else can write beside.
    /// - Parameter save: makes another safety backup; called if something was committed since the last one.
    func saveWhatCame(by save: () throws(BackupError) -> Void) throws(BackupError) {
        hasBegun = true
        defer { end() }
        if let watch, try watch.hasChanged() { try save() }
    }

    /// The same while others can still write: it has to be asked again.
    func saveWhatCameSoFar(by save: () throws(BackupError) -> Void) throws(BackupError) {
        hasBegun = true
        guard let watch, try watch.hasChanged() else { return }
        watch.close()
        self.watch = try DatabaseWatch(database)
        try save()
    }

    /// Lets go of the database for something that needs it alone, such as leaving the write-ahead log, and goes on to watch.
    func withoutConnection(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        end()
        try body()
        watch = try DatabaseWatch(database)
    }

    /// For the moment in which nobody can read any more, so that nothing can be saved either.
    /// - Throws: `busy` if something was committed since the last safety backup.
    func requireNothingNew() throws(BackupError) {
        defer { end() }
        guard let watch, try watch.hasChanged() else { return }
        throw BackupError(
            .busy, "the app changed its database while the restore was about to replace it", path: database.path,
            remedy: "Close the app, or wait, and try again. Nothing was changed.")
    }

    /// The connection must be closed before the transaction ends.
    func end() {
        watch?.close()
        watch = nil
    }
}
