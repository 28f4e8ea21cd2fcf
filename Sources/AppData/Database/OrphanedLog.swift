import BackupCore
import SystemIO

/// A log or journal with data whose database is missing or an empty file. It may be all that is left of the data, and SQLite deletes it as soon as it opens
/// the empty database beside it, even for reading.
enum OrphanedLog {
    /// The first log or journal beside a database that is not empty.
    /// - Parameter realPath: of the database, without links
    static func path(ofDatabase realPath: String) throws(BackupError) -> String? {
        for suffix in DatabaseLogs.logSuffixes {
            if let log = try FileSystem.look(realPath + suffix), log.size > 0 { return realPath + suffix }
        }
        return nil
    }

    /// Must be called before SQLite opens the app's database in any way.
    /// - Throws: `damagedContent` for an empty database with a log.
    static func requireNone(ofDatabase path: String) throws(BackupError) {
        guard let status = try FileSystem.lookBehindLinks(path), status.kind == .regular, status.size == 0,
            let log = try Self.path(ofDatabase: DatabaseFile.realPath(path))
        else { return }
        throw BackupError(
            .damagedContent,
            "the database \(MessageText.shortened(FileSystem.lastComponent(path))) is an empty file, and a log with data is beside it",
            path: log,
            remedy:
                "The log may hold data that no backup has, and would be deleted if the empty database were opened. Put the database that it belongs to back beside it, or move the log to a safe place, and try again."
        )
    }

    /// - Throws: `alreadyExists` when a missing or empty database has left a log.
    static func requireNone(ofLostDatabase realPath: String) throws(BackupError) {
        guard let log = try Self.path(ofDatabase: realPath) else { return }
        throw error(log)
    }

    static func error(_ log: String) -> BackupError {
        BackupError(
            .alreadyExists, "the database is not there, but its log is", path: log,
            remedy: "It may hold data that no backup has: move it to a safe place, and restore again.")
    }
}
