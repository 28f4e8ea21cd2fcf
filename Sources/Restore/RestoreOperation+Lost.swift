import AppData
import BackupCore
import Glibc
import SystemIO

/// A lost database, which is created again before the records are restored.
extension RestoreOperation {
    /// Checks the recreated database like an existing one.
    /// - Returns: whether its records stay unchanged: they already equal the file's, and could not be replaced without losing data that only the database has.
    /// - Throws: like `AppDatabase.requireReplaceable`, when the records must be changed anyway.
    func keepsRecords(of recreation: String, _ checked: CheckedImport) throws(BackupError) -> Bool {
        let made = AppDatabase(at: recreation, definition: definition)
        do throws(BackupError) {
            _ = try made.triggerWarning()
            try made.requireReplaceable(copiesRows: checked.rows != nil)
            return false
        } catch {
            // Records whose files are now at other paths are not the backup's.
            guard error.code == .notSupported, !checked.movesFiles else {
                throw BackupError(
                    error.code, error.message, path: database.path, remedy: error.remedy, findings: error.findings)
            }
            return true
        }
    }

    /// A copy of the lost database in its state before the restore fills it.
    func makeLost(at path: String) throws(BackupError) -> AppDatabase {
        guard let recreation else { return try AppDatabase.create(at: path, definition: definition) }
        let source = try SharedFile(path: recreation)
        try source.copy(source.size, to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600), named: path)
        return AppDatabase(at: path, definition: definition)
    }

    /// The nearest existing folder above a path.
    func nearestFolder(to path: String) throws(BackupError) -> String {
        var place = FileSystem.absolutePath(path)
        while place != "/", try FileSystem.look(place) == nil { place = FileSystem.parentPath(place) }
        return place
    }
}
