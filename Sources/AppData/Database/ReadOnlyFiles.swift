import GRDBSQLite
import Glibc

/// An SQLite VFS that changes nothing: it opens files only for reading, and creates and deletes none.
///
/// `SQLITE_OPEN_READONLY` is not enough. SQLite still creates a missing log, and as root it gives a log or journal that it opens to the owner of its database.
enum ReadOnlyFiles {
    /// Its name, for sqlite3_open_v2
    static let name: String? = register() ? text : nil

    private static let text = "backupfs-read-only"

    private static func register() -> Bool {
        guard let original = sqlite3_vfs_find(nil) else { return false }
        // SQLite keeps it for the lifetime of the process.
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: original.pointee)
        layer.pointee.pNext = nil
        layer.pointee.zName = text.withCString { UnsafePointer(strdup($0)) }
        layer.pointee.xOpen = { _, path, file, flags, outFlags in
            guard let original = sqlite3_vfs_find(nil), let open = original.pointee.xOpen else { return SQLITE_CANTOPEN }
            // A temporary file of SQLite has no path.
            return open(original, path, file, path == nil ? flags : ReadOnlyFiles.readingOnly(flags), outFlags)
        }
        layer.pointee.xDelete = { _, _, _ in SQLITE_READONLY }
        return sqlite3_vfs_register(layer, 0) == SQLITE_OK
    }

    private static func readingOnly(_ flags: Int32) -> Int32 {
        let changing = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE | SQLITE_OPEN_DELETEONCLOSE
        let logs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL
        let reading = flags & ~changing | SQLITE_OPEN_READONLY
        // Opened as a kind of file whose owner SQLite does not change; nothing else depends on the kind.
        return reading & logs == 0 ? reading : reading & ~logs | SQLITE_OPEN_SUBJOURNAL
    }
}
