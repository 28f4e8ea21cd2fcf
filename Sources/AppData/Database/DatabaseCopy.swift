import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

/// Copies an open database page by page through SQLite's backup interface.
enum DatabaseCopy {
    static func copy(from source: OpaquePointer?, path: String, to destination: String) throws(BackupError) {
        // Created first, and exclusively: SQLite would accept an existing file, and would create one with the umask's mode.
        let descriptor = try OwnedDescriptor.open(destination, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        do {
            try copyPages(from: source, path: path, to: destination)
            try markAsRollbackJournal(descriptor)
        } catch {
            _ = unlink(destination)
            throw error
        }
    }

    private static func copyPages(from source: OpaquePointer?, path: String, to destination: String) throws(BackupError) {
        var target: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        defer { sqlite3_close_v2(target) }
        guard sqlite3_open_v2(destination, &target, flags, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(target, path: destination)
        }
        // Nothing to protect: the file is discarded unless the copy succeeds, and a caller that keeps it syncs it.
        sqlite3_exec(target, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nil, nil, nil)
        // The source is inside its read transaction, so that the copy is of that transaction's state, regardless of writers.
        try copyPages(from: source, path: path, to: target, targetPath: destination, pagesPerStep: 4_096)
    }

    /// Copies all pages in one transaction of the target.
    /// - Parameters:
    ///   - path, targetPath: named in errors.
    ///   - pagesPerStep: after this many pages it can be cancelled; only for a source inside a transaction. All in one step if negative.
    ///   - busyTimeoutSeconds: how long to wait for a lock on a database, which the interface itself does not do.
    ///   - locksFirst: whether to lock the target before the first page is copied, and call `whenLocked`.
    ///   - whenLocked: called with the target locked, before the first page is copied; an error rolls everything back.
    static func copyPages(
        from source: OpaquePointer?, path: String, to target: OpaquePointer?, targetPath: String, pagesPerStep: Int32 = -1,
        busyTimeoutSeconds: Double = 0, locksFirst: Bool = false,
        whenLocked: () throws(BackupError) -> Void = { () throws(BackupError) in }
    ) throws(BackupError) {
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw DatabaseFailure.last(target, path: targetPath)
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
        guard result == SQLITE_DONE else {
            throw DatabaseFailure.error(code: result, reason: String(cString: sqlite3_errstr(result)), path: path)
        }
        guard finished == SQLITE_OK else { throw DatabaseFailure.last(target, path: targetPath) }
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
