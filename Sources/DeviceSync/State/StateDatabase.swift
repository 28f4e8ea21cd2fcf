import BackupCore
import Glibc
import SQLite
import SystemIO

/// The SQLite file of a device's state: its tables, and what its errors mean.
enum StateDatabase {
    private static let applicationID: Int64 = 0x6266_7364  // "bfsd"
    private static let schemaVersion: Int64 = 1
    private static let busySeconds = 10.0

    /// `records`: what is known of each record, also of deleted ones (without a digest). `applying`: what a merge is about to
    /// write to the app's database, or has just written. `queue`: batches that are not uploaded. `positions`: how far the logs of
    /// other devices are merged. `vectors`: what the device of a batch had merged when it made it.
    private static let schema = """
        CREATE TABLE facts (name TEXT PRIMARY KEY NOT NULL, value NOT NULL) WITHOUT ROWID;
        CREATE TABLE records (
            collection TEXT NOT NULL, key BLOB NOT NULL, digest BLOB, milliseconds INTEGER NOT NULL, counter INTEGER NOT NULL,
            device BLOB NOT NULL, sequence INTEGER NOT NULL, held INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (collection, key)) WITHOUT ROWID;
        CREATE TABLE applying (
            collection TEXT NOT NULL, key BLOB NOT NULL, digest BLOB, milliseconds INTEGER NOT NULL, counter INTEGER NOT NULL,
            device BLOB NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (collection, key)) WITHOUT ROWID;
        CREATE TABLE queue (sequence INTEGER PRIMARY KEY NOT NULL, changes INTEGER NOT NULL, object BLOB NOT NULL);
        CREATE TABLE positions (device BLOB PRIMARY KEY NOT NULL, sequence INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE vectors (
            device BLOB NOT NULL, sequence INTEGER NOT NULL, seen BLOB NOT NULL, PRIMARY KEY (device, sequence)) WITHOUT ROWID;
        """

    /// Opens the file, and creates it if it does not exist. What is committed is durable.
    /// - Throws: `unsupportedVersion` for one of a later program; `damagedContent` for anything else.
    static func open(_ path: String) throws(BackupError) -> DatabaseConnection {
        if path != ":memory:", try !FileSystem.exists(path) {
            // Created here for its mode, which SQLite gives to the files beside it.
            _ = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        }
        let connection = try DatabaseConnection(path, .create, .deviceState, busyTimeoutSeconds: busySeconds)
        try connection.execute("PRAGMA synchronous = FULL")
        if path != ":memory:" { try connection.useLog() }
        try connection.transaction(.immediate) { () throws(BackupError) in try prepare(connection) }
        return connection
    }

    private static func prepare(_ connection: DatabaseConnection) throws(BackupError) {
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        if version == 0, application == 0, try connection.integer("SELECT count(*) FROM sqlite_master") == 0 {
            try connection.execute(schema)
            try connection.execute("PRAGMA user_version = \(schemaVersion); PRAGMA application_id = \(applicationID)")
            return
        }
        guard application == applicationID, version <= schemaVersion else {
            throw BackupError(
                application == applicationID ? .unsupportedVersion : .damagedContent,
                "the state of this device is of another program or version", path: connection.path,
                remedy: "Use a newer backupfs, or remove the folder device-sync in the store: the device then joins again.")
        }
    }

    static func damaged(_ path: String) -> BackupError {
        BackupError(
            .damagedContent, "the state of this device is damaged", path: path,
            remedy: "Remove the folder device-sync in the store: the device then joins again.")
    }
}

extension DatabaseErrors {
    static let deviceState = DatabaseErrors(isCancellable: false) { failure in
        BackupError(
            failure.code(damaged: .damagedContent),
            "the state of this device cannot be used: \(Message.verbatim(failure.reason))", path: failure.path)
    }
}
