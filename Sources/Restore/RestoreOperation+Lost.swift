import AppData
import BackupCore
import Glibc
import SystemIO

/// A database that is lost, and made again before the records are brought in.
extension RestoreOperation {
    /// Asks of the database that is made what is asked of one that is there.
    /// - Returns: whether its records stay as they are: they are the file's already, and could not be replaced without losing what only the database has.
    /// - Throws: as `AppDatabase.requireReplaceable`, when the records have to be changed all the same.
    func keepsRecords(of recreation: String, _ checked: CheckedImport) throws(BackupError) -> Bool {
        let made = AppDatabase(at: recreation, definition: definition)
        do throws(BackupError) {
            _ = try made.triggerWarning()
            try made.requireReplaceable(copiesRows: checked.rows != nil)
            return false
        } catch {
            // Records whose files lie elsewhere by now are not the backup's.
            guard error.code == .notSupported, !checked.movesFiles else {
                throw BackupError(
                    error.code, error.message, path: database.path, remedy: error.remedy, findings: error.findings)
            }
            return true
        }
    }

    /// A copy of what the lost database will be before the restore fills it.
    func makeLost(at path: String) throws(BackupError) -> AppDatabase {
        guard let recreation else { return try AppDatabase.create(at: path, definition: definition) }
        let source = try SharedFile(path: recreation)
        try source.copy(source.size, to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600), named: path)
        return AppDatabase(at: path, definition: definition)
    }

    /// The folder that a path lies in, or will lie in when what is missing is made.
    func nearestFolder(to path: String) throws(BackupError) -> String {
        var place = FileSystem.absolutePath(path)
        while place != "/", try FileSystem.look(place) == nil { place = FileSystem.parentPath(place) }
        return place
    }
}
