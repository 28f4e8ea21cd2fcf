import BackupCore
import Glibc
import SQLite
import SystemIO

/// A database known only by its path: another program's, which is read and never changed.
public enum DatabaseFile {
    private static let busyTimeoutSeconds = 5.0
    /// The bytes that SQLite locks (its file format, section 1.4: `PENDING_BYTE` and the 511 after it).
    private static let lockBytes = (start: Int64(0x4000_0000), count: Int64(512))

    /// Whether a program has the database open in WAL mode, or is reading or writing it.
    /// - Throws: when locks cannot be queried.
    public static func isLocked(_ file: borrowing OwnedDescriptor) throws(BackupError) -> Bool {
        try AdvisoryLock.isHeld(on: file, from: lockBytes.start, count: lockBytes.count)
    }

    /// The path of the file itself. SQLite follows symbolic links, and keeps log and journal beside their target: append their
    /// suffixes to this path.
    /// - Throws: `inputOutput` for a dangling link and for a loop of links.
    public static func realPath(_ path: String) throws(BackupError) -> String {
        try FileSystem.realPathBehindLinks(path)
    }

    /// Copies it with its log's content, as of one instant, to a separate file without a log. A program that writes to it with a
    /// log continues meanwhile. Only the copy is created, changed or deleted.
    /// - Parameter destination: must not exist; does not exist after an error.
    /// - Throws: `databaseInUse` when another program keeps it locked; `damagedContent` when it is not a database; `readOnly` or
    ///   `accessDenied` when a read would first have to roll back a journal, or create the index of a log.
    public static func copy(_ path: String, to destination: String) throws(BackupError) {
        let connection = try DatabaseConnection(path, .untouched, .app, busyTimeoutSeconds: busyTimeoutSeconds)
        defer { connection.close() }
        connection.refuseAttaching()
        try connection.execute(
            "PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0; BEGIN; SELECT count(*) FROM sqlite_master")
        try DatabaseCopy.copy(from: connection, to: destination)
    }
}
