import BackupCore
import CSQLite
import Glibc
import SystemIO

/// Copies an open database page by page through SQLite's backup interface.
package enum DatabaseCopy {
    /// - Parameters:
    ///   - source: inside its read transaction, so that the copy is of that transaction's state, regardless of writers.
    ///   - destination: must not exist; does not exist after an error.
    package static func copy(from source: DatabaseConnection, to destination: String) throws(BackupError) {
        // Created first, and exclusively: SQLite would accept an existing file, and would create one with the umask's mode.
        let descriptor = try OwnedDescriptor.open(destination, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        do {
            try copyPages(from: source, to: destination)
            try markAsRollbackJournal(descriptor)
        } catch {
            _ = unlink(destination)
            throw error
        }
    }

    private static func copyPages(from source: DatabaseConnection, to destination: String) throws(BackupError) {
        let target = try DatabaseConnection(destination, .readWrite, source.errors)
        defer { target.close() }
        // Nothing to protect: the file is discarded unless the copy succeeds, and a caller that keeps it syncs it.
        try target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        try copyPages(from: source, to: target, path: source.path, pagesPerStep: 4_096)
    }

    /// Copies all pages in one transaction of the target.
    /// - Parameters:
    ///   - path: named in errors about either database.
    ///   - pagesPerStep: after this many pages it can be cancelled; only for a source inside a transaction. All in one step if
    ///     negative.
    ///   - busyTimeoutSeconds: how long to wait for a lock on a database, which the interface itself does not do.
    ///   - locksFirst: whether to lock the target before the first page is copied, and call `whenLocked`.
    ///   - whenLocked: called with the target locked, before the first page is copied; an error rolls everything back.
    package static func copyPages(
        from source: DatabaseConnection, to target: DatabaseConnection, path: String, pagesPerStep: Int32 = -1,
        busyTimeoutSeconds: Double = 0, locksFirst: Bool = false,
        whenLocked: () throws(BackupError) -> Void = { () throws(BackupError) in }
    ) throws(BackupError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.failure()
        }
        let end = SystemClock.monotonicNanoseconds() + UInt64(busyTimeoutSeconds * 1e9)
        var result = SQLITE_OK
        var isBusy = false
        var cancelled: BackupError?
        // A step of zero pages locks both databases without copying.
        var isLocking = locksFirst
        repeat {
            do {
                try Cancellation.check()
            } catch {
                cancelled = error
                break
            }
            if isBusy { usleep(20_000) }
            result = sqlite3_backup_step(backup, isLocking ? 0 : pagesPerStep)
            isBusy = result == SQLITE_BUSY || result == SQLITE_LOCKED
            guard isLocking, result == SQLITE_OK else { continue }
            isLocking = false
            do {
                try whenLocked()
            } catch {
                cancelled = error
                break
            }
        } while result == SQLITE_OK || isBusy && SystemClock.monotonicNanoseconds() < end
        // Any error has already been rolled back.
        let finished = sqlite3_backup_finish(backup)
        if let cancelled { throw cancelled }
        guard result == SQLITE_DONE else { throw target.failure(code: result, path: path) }
        guard finished == SQLITE_OK else { throw target.failure() }
    }

    /// Bytes 18 and 19 of the header are the file format's write and read version: 2 is write-ahead log, 1 is rollback journal.
    /// Setting them is all that `PRAGMA journal_mode = DELETE` does to a database without a log, except for its change counter.
    private static func markAsRollbackJournal(_ descriptor: borrowing OwnedDescriptor) throws(BackupError) {
        guard try descriptor.status().size >= 100 else { return }
        guard try descriptor.readExactly(at: 18, count: 2) != [1, 1] else { return }
        let versions: [UInt8] = [1, 1]
        var result: Result<Void, BackupError> = .success(())
        versions.withUnsafeBytes { buffer in
            result = Result { () throws(BackupError) in try descriptor.writeAll(buffer, at: 18) }
        }
        try result.get()
    }
}

/// An SQLite VFS that changes nothing: it opens files only for reading, and creates and deletes none.
///
/// `SQLITE_OPEN_READONLY` is not enough. SQLite still creates a missing log, and as root it gives a log or journal that it opens
/// to the owner of its database.
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
