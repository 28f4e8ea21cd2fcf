import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

/// Copies an open database page by page through SQLite's backup interface.
enum DatabaseCopy {
    static func copy(from source: OpaquePointer?, path: String, to destination: String) throws(BackupError) {
        // Made first, and exclusively: SQLite would take a file that is there, and would make one with the umask's mode.
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
        // Nothing to protect: the file is thrown away unless the copy ends well, and whoever keeps it syncs it.
        sqlite3_exec(target, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nil, nil, nil)
        // The source is inside its read transaction, so that the copy is of that transaction's state, whoever writes meanwhile.
        try copyPages(from: source, path: path, to: target, targetPath: destination, pagesPerStep: 4_096)
    }

    /// Copies all pages in one transaction of the target's.
    /// - Parameters:
    ///   - path, targetPath: named in errors.
    ///   - pagesPerStep: after so many it can be cancelled; only for a source that is inside a transaction. All at once if negative.
    ///   - busyTimeoutSeconds: how long to wait for those who have a database locked, which the interface does not by itself.
    ///   - locksFirst: whether the target is locked before the first page is copied, and `whenLocked` is called.
    ///   - whenLocked: called once the target is locked for all others, before the first page is copied; what it throws undoes everything.
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
        // A step of no pages locks both databases, and copies nothing.
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
        // Whatever went wrong has been rolled back by then.
        let finished = sqlite3_backup_finish(backup)
        if let cancelled { throw cancelled }
        guard result == SQLITE_DONE else {
            throw DatabaseFailure.error(code: result, reason: String(cString: sqlite3_errstr(result)), path: path)
        }
        guard finished == SQLITE_OK else { throw DatabaseFailure.last(target, path: targetPath) }
    }

    /// Bytes 18 and 19 of the header are the file format's write and read version: 2 is write-ahead log, 1 is rollback journal.
    /// Setting them is all that `PRAGMA journal_mode = DELETE` does to a database without a log, but for its change counter.
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
