import BackupCore
import Glibc
import SQLite
import SystemIO

/// The SQLite file of the cache: opening it, its table, and what is done with one that is damaged.
///
/// Several processes use it at once. One row for each path and algorithm.
enum ChecksumDatabase {
    private static let applicationID: Int64 = 0x6266_636B  // "bfck"
    private static let schemaVersion: Int64 = 1
    private static let busyTimeoutSeconds = 5.0

    private static let schema = """
        CREATE TABLE checksums (
            path BLOB NOT NULL, algorithm TEXT NOT NULL,
            size INTEGER NOT NULL, mtime INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime INTEGER NOT NULL,
            ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, device INTEGER NOT NULL,
            digest BLOB NOT NULL, stored_at INTEGER NOT NULL, row_check INTEGER NOT NULL,
            PRIMARY KEY (path, algorithm)) WITHOUT ROWID;
        CREATE INDEX checksums_by_age ON checksums (stored_at);
        """

    /// Opens the file, and makes it if it is missing. One that is damaged, or of another version, is emptied.
    /// - Throws: `accessDenied` for a file that another user could have written; the errors of SQLite and of the file system.
    static func open(_ path: String) throws(BackupError) -> DatabaseConnection {
        try makeFile(path)
        do throws(BackupError) {
            return try openWhole(path)
        } catch {
            guard error.code == .damagedContent else { throw error }
            try empty(path)
            return try openWhole(path)
        }
    }

    /// Throws everything away, whatever is in the file. Other processes that use it notice that.
    static func empty(_ path: String) throws(BackupError) {
        let connection = try DatabaseConnection(path, .readWrite, .checksums, busyTimeoutSeconds: busyTimeoutSeconds)
        defer { connection.close() }
        try connection.empty()
    }

    private static func openWhole(_ path: String) throws(BackupError) -> DatabaseConnection {
        let connection = try DatabaseConnection(path, .readWrite, .checksums, busyTimeoutSeconds: busyTimeoutSeconds)
        // What a power cut takes is computed again. But the file must never be half-written.
        try connection.execute("PRAGMA synchronous = NORMAL")
        // A write-ahead log needs memory that all its users share, which those on several hosts do not.
        if try FileSystem.isShared(path) {
            try connection.execute("PRAGMA journal_mode = DELETE")
        } else {
            try connection.useLog()
        }
        if try !isReady(connection) {
            try connection.transaction(.immediate) { () throws(BackupError) in
                // Another process may have been faster.
                guard try !isReady(connection) else { return }
                guard try connection.integer("SELECT count(*) FROM sqlite_master") == 0 else {
                    throw BackupError(.damagedContent, "the cache of checksums is of another version", path: path)
                }
                try connection.execute(schema)
                try connection.execute("PRAGMA user_version = \(schemaVersion); PRAGMA application_id = \(applicationID)")
            }
        }
        return connection
    }

    private static func isReady(_ connection: DatabaseConnection) throws(BackupError) -> Bool {
        guard try connection.integer("PRAGMA user_version") == schemaVersion else { return false }
        return try connection.integer("PRAGMA application_id") == applicationID
    }

    /// A file that only this user could have written to: its rows decide which files count as unchanged.
    private static func makeFile(_ path: String) throws(BackupError) {
        let folder = FileSystem.parentPath(path)
        try FileSystem.makeDirectories(folder, isDurable: false)
        let place = try DirectoryHandle(path: folder)
        try requireOwn(try place.descriptor.status(), folder)
        let name = FileName(FileSystem.lastComponent(path))
        if try place.statusIfPresent(name) == nil {
            do throws(BackupError) {
                _ = try place.open(name, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
            } catch {
                // Another process was faster: its file is as good.
                if error.code != .alreadyExists { throw error }
            }
        }
        let status = try place.status(name)
        guard status.kind == .regular else {
            throw BackupError(
                .notSupported, "the cache of checksums is not a file", path: path, remedy: "Remove what is there.")
        }
        try requireOwn(status, path)
    }

    private static func requireOwn(_ status: FileStatus, _ path: String) throws(BackupError) {
        guard status.owner == geteuid() else {
            throw BackupError(
                .accessDenied, "the cache of checksums belongs to another user and is not used", path: path,
                remedy: "Set XDG_CACHE_HOME to a folder of your own, or say --no-cache.")
        }
        guard status.mode & 0o022 == 0 else {
            throw BackupError(
                .accessDenied, "other users may write to the cache of checksums, so it is not used", path: path,
                remedy: "Allow that only to yourself, with: chmod go-w")
        }
    }
}

extension DatabaseErrors {
    /// `damagedContent` for a file that is damaged or not a database.
    static let checksums = DatabaseErrors(isCancellable: false) { failure in
        BackupError(
            failure.code(damaged: .damagedContent),
            "the cache of checksums cannot be used: \(Message.verbatim(failure.reason))", path: failure.path,
            remedy: "Everything is computed without it. Empty it with: backupfs cache clear")
    }
}
