import BackupCore
import SQLite
import SystemIO

extension DatabaseErrors {
    /// For an app's database, and copies of one.
    static let app = DatabaseErrors(isCancellable: true) { failure in
        let path = failure.path
        let reason = failure.reason
        switch failure.kind {
        case .locked:
            return BackupError(
                .databaseInUse, "the app holds its database locked", path: path, remedy: "Close the app, or wait, and try again.")
        case .full:
            return BackupError(
                .noSpace, "the database cannot grow: \(reason)", path: path, remedy: SpaceShortage.remedy(at: path))
        // SQLite's code when it cannot create the files beside the database.
        case .cannotOpen where SpaceShortage.isExhausted(at: path):
            return BackupError(
                .noSpace, "the database cannot be opened: \(reason)", path: path, remedy: SpaceShortage.remedy(at: path))
        case .damaged:
            return BackupError(
                .damagedContent, "the database is damaged: \(reason)", path: path,
                remedy: "Move it away, with the files beside it that have its name and -wal or -shm, and restore a backup.")
        case .readOnly: return BackupError(.readOnly, "the database cannot be written: \(reason)", path: path)
        case .forbidden, .unauthorized:
            return BackupError(.accessDenied, "the database may not be used: \(reason)", path: path)
        case .cannotOpen:
            return BackupError(
                .accessDenied, "the database cannot be opened: \(reason)", path: path,
                remedy: "Check that the file exists, and that the file and its folder can be read and written.")
        case .tooBig: return BackupError(.tooLarge, "a value is too large for the database", path: path)
        case .refused:
            return BackupError(.invalidContent, "Import failed: the database refused a record: \(reason)", path: path)
        case .interrupted: return BackupError(.interrupted, "the database operation was interrupted", path: path)
        case .unexpected:
            return BackupError(.invalidContent, "the database is not what was expected: \(reason)", path: path)
        case .noSpaceForLogIndex, .changedSchema, .other:
            return BackupError(.inputOutput, "the database could not be used: \(reason)", path: path)
        }
    }
}
