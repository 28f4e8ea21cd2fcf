import BackupCore
import GRDB
import GRDBSQLite
import Glibc
import SystemIO

/// The app's SQLite database. Each operation opens its own connection and closes it again: operations of several threads do not
/// block each other, and see a file that has replaced the old one.
public struct AppDatabase: Sendable {
    /// Path of the database file, which may be missing.
    public let path: String
    public let definition: AppDefinition
    /// How long a writer waits for another one, in seconds.
    public let busyTimeoutSeconds: Double
    /// For collections that are generated from the media folder.
    public let media: (any MediaCatalog)?
    /// Whether rows are read only from their tables, since an index may lack some.
    public let avoidsIndexes: Bool

    /// The database in an existing file.
    /// - Throws: `notFound`; `invalidContent` when it lacks the definition's tables or columns.
    public init(
        opening path: String, definition: AppDefinition, busyTimeoutSeconds: Double = 5
    ) throws(BackupError) {
        self.init(at: path, definition: definition, busyTimeoutSeconds: busyTimeoutSeconds)
        try check()
    }

    /// The database at a path, regardless of the present state: each operation reports what is wrong with it.
    public init(
        at path: String, definition: AppDefinition, busyTimeoutSeconds: Double = 5, media: (any MediaCatalog)? = nil,
        avoidsIndexes: Bool = false
    ) {
        self.avoidsIndexes = avoidsIndexes
        self.media = media
        self.path = path
        self.definition = definition
        self.busyTimeoutSeconds = busyTimeoutSeconds
    }

    /// - Throws: `notFound`; `invalidContent` when it lacks the definition's tables or columns; `damagedContent` when it is not a
    ///   database.
    public func check() throws(BackupError) {
        try Self.requireFile(path)
        let missing = try read { connection throws(BackupError) in
            // If the database does not even record its format, report missing tables of the first one.
            let format = (try? definition.format(ofDatabase: connection, path: path)) ?? definition
            return try DatabaseSchemaCheck(of: connection, format, path: path).firstProblem()
        }
        if let missing {
            throw BackupError(
                .invalidContent, "the database is not one of \(definition.title): \(missing)", path: path,
                remedy: "Check the path and the name of the app.")
        }
    }

    /// Creates the embedded database, in WAL mode and with mode 0600, or migrates an existing one to the newest schema.
    public static func create(
        at path: String, definition: AppDefinition, busyTimeoutSeconds: Double = 5
    ) throws(BackupError) -> AppDatabase {
        try prepareForWriting(path)
        try DatabaseFailure.mapping(path) {
            let queue = try DatabaseQueue(
                path: path, configuration: configuration(isReadOnly: false, busyTimeoutSeconds: busyTimeoutSeconds))
            defer { try? queue.close() }
            try queue.writeWithoutTransaction { database in
                // The migrations' SQL may be untrusted, and is for this file only: it must not attach another one.
                sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_ATTACHED, 0)
                _ = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
            }
            var migrator = DatabaseMigrator()
            for migration in definition.migrations {
                migrator.registerMigration(migration.name) { try $0.execute(sql: migration.sql) }
            }
            try migrator.migrate(queue)
        }
        return try AppDatabase(opening: path, definition: definition, busyTimeoutSeconds: busyTimeoutSeconds)
    }

    /// Must be called before SQLite may write to a database: creates an empty file where there is none, and refuses a journal
    /// that would make SQLite delete a foreign file.
    /// - Throws: `notPermitted` for such a journal.
    static func prepareForWriting(_ path: String) throws(BackupError) {
        if try FileSystem.lookBehindLinks(path) == nil {
            // Created here and not by SQLite, for its mode, which the log files inherit. An existing file is never opened:
            // closing it would drop the locks of this process's other connections.
            _ = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        }
        try OrphanedLog.requireNone(ofDatabase: path)
        try SuperJournal.requireOwn(ofDatabase: path)
    }

    /// Whether the embedded database has pending migrations.
    public func hasPendingMigrations() throws(BackupError) -> Bool {
        let done = try read { connection throws(BackupError) in
            let statement = try DatabaseStatement(
                connection, "SELECT identifier FROM \(DatabaseSchema.migrationsTable)", path: path)
            var names: Set<String> = []
            while try statement.step() { names.insert(statement.text(0)) }
            return names
        }
        return definition.migrations.contains { !done.contains($0.name) }
    }

    /// Whether a file exists, even if it is not a database.
    /// - Throws: when that cannot be determined: the path may be a link to a disk that is not mounted.
    public func exists() throws(BackupError) -> Bool { try FileSystem.lookBehindLinks(path) != nil }

    /// The present path of the file itself: files beside it are named after it.
    public func realPath() throws(BackupError) -> String { try DatabaseFile.realPath(path) }

    /// A cheap fingerprint (a few system calls); it differs whenever something was committed since.
    public func changeState() -> DatabaseChangeState { DatabaseChangeState(path: path) }

    /// Whether the app can commit during a read of any length: it has a write-ahead log.
    public func readersLetWritersPass() throws(BackupError) -> Bool {
        try read { connection throws(BackupError) in
            let mode = try DatabaseStatement(connection, "PRAGMA journal_mode", path: path)
            return try mode.step() && mode.text(0) == "wal"
        }
    }

    /// Runs `body` inside one read transaction: everything it reads and copies is of one instant. With a write-ahead log it does
    /// not block writers; without one they wait until it ends, so long tasks should read from a copy.
    public func readSnapshot<Result>(
        _ body: (DatabaseSnapshot) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try read { connection throws(BackupError) in
            try body(
                DatabaseSnapshot(
                    connection: connection, definition: definition, path: path, media: media, avoidsIndexes: avoidsIndexes))
        }
    }

    /// Problems of its rows: a backup stores such rows, but no restore would accept them.
    /// - Returns: at most as many findings as the validator collects.
    public func rowProblems() throws(BackupError) -> [Message] {
        try readSnapshot { (snapshot) throws(BackupError) in
            do throws(BackupError) {
                _ = try ImportValidator(definition: snapshot.definition, limitsMetadata: false).validate(
                    DatedSnapshot(snapshot: snapshot))
                return []
            } catch {
                guard error.code == .invalidContent else { throw error }
                return error.findings.isEmpty ? [error.message] : error.findings
            }
        }
    }

    /// Values of its rows that the definition does not allow; `nil` when there are none.
    /// - Throws: `invalidContent` for rows that no kind of restore accepts.
    public func disallowedValues() throws(BackupError) -> DisallowedValues? {
        try readSnapshot { (snapshot) throws(BackupError) in
            try ImportValidator(definition: snapshot.definition, limitsMetadata: false, acceptsValues: true).validate(
                DatedSnapshot(snapshot: snapshot)
            ).disallowedValues
        }
    }

    /// The app's definition in the wire format of the data.
    public func currentFormat() throws(BackupError) -> AppDefinition {
        guard definition.coversWholeDatabase || !definition.otherFormats.isEmpty else { return definition }
        return try readSnapshot { $0.definition }
    }

    /// The marker of the last replacement, if present: after a crash it shows whether the restore had committed.
    public func restoreMarker() throws(BackupError) -> RestoreMarker? {
        try read { connection throws(BackupError) in try RestoreMarker.read(connection, path: path) }
    }

    /// - Throws: `busy` while another store's restore is not finished.
    public func requireNoOtherRestore(ownJournalPath: String) throws(BackupError) {
        try restoreMarker()?.requireFinished(ownJournalPath: ownJournalPath, path: path)
    }

    /// Removes the marker of a restore that has ended; keeps that of another restore.
    public func removeRestoreMarker(of operation: String) throws(BackupError) {
        guard try restoreMarker()?.operation == operation else { return }
        try write { database in try database.execute(sql: "DROP TABLE IF EXISTS \(RestoreMarker.table)") }
    }

    /// Ensures that a transaction whose commit failed stays rolled back. With a write-ahead log, all of it may be in the log,
    /// including the commit mark, and only the index in memory, which the app shares, excludes it. After the app has died or the
    /// power was cut, the next reader of the log would consider it committed. The commit made here overwrites it, and changes
    /// nothing.
    public func overwriteFailedCommit() throws(BackupError) {
        guard try readersLetWritersPass() else { return }
        try write { database in
            let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            // Written to the log even if unchanged.
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
    }

    private static func notThere(_ path: String) -> BackupError {
        BackupError(.notFound, "the database does not exist", path: path, remedy: "Check the path, or restore a backup.")
    }

    static func requireFile(_ path: String) throws(BackupError) {
        guard let status = try FileSystem.lookBehindLinks(path), status.kind == .regular else { throw notThere(path) }
    }

    // MARK: Connections

    func read<Result>(_ body: (OpaquePointer?) throws(BackupError) -> Result) throws(BackupError) -> Result {
        let outcome: Swift.Result<Result, BackupError>
        do {
            outcome = try read(isReadOnly: true, body)
        } catch let error where error.code == .readOnly || error.code == .accessDenied {
            // Before anything can be read, a journal left by a crash must be rolled back, or a log's index created.
            guard access(path, W_OK) == 0 else { throw error }
            outcome = try read(isReadOnly: false, body)
        }
        return try outcome.get()
    }

    /// - Returns: the body's result or error; throws itself only when the body was not reached, so that it never runs twice.
    private func read<Result>(
        isReadOnly: Bool, _ body: (OpaquePointer?) throws(BackupError) -> Result
    ) throws(BackupError) -> Swift.Result<Result, BackupError> {
        let queue = try open(isReadOnly: isReadOnly)
        defer { try? queue.close() }
        var outcome: Swift.Result<Result, BackupError>?
        try DatabaseFailure.mapping(path) {
            try queue.read { database in
                prepareForReading(database.sqliteConnection)
                // BEGIN alone takes no lock: the first read does, and fixes the state.
                _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master")
                outcome = Swift.Result { () throws(BackupError) in try body(database.sqliteConnection) }
            }
        }
        guard let outcome else { throw BackupError(.inputOutput, "the database gave no answer", path: path) }
        return outcome
    }

    /// One transaction that takes the write lock at its start.
    func write<Result>(_ body: (Database) throws -> Result) throws(BackupError) -> Result {
        let queue = try open(isReadOnly: false)
        defer { try? queue.close() }
        return try DatabaseFailure.mapping(path) {
            try queue.writeWithoutTransaction { database in
                var result: Result?
                try database.inTransaction(.immediate) {
                    result = try body(database)
                    return .commit
                }
                guard let result else { throw BackupError(.inputOutput, "the transaction gave no result", path: path) }
                return result
            }
        }
    }

    private func open(isReadOnly: Bool) throws(BackupError) -> DatabaseQueue {
        guard try exists() else { throw Self.notThere(path) }
        try OrphanedLog.requireNone(ofDatabase: path)
        // A read-only connection rolls nothing back.
        if !isReadOnly { try SuperJournal.requireOwn(ofDatabase: path) }
        return try DatabaseFailure.mapping(path) {
            try DatabaseQueue(
                path: path,
                configuration: Self.configuration(isReadOnly: isReadOnly, busyTimeoutSeconds: busyTimeoutSeconds))
        }
    }

    /// For a read-only connection: a whole database is read regardless of its collations.
    private func prepareForReading(_ connection: OpaquePointer?) {
        if definition.coversWholeDatabase { UnknownCollations.accept(on: connection) }
    }

    static func configuration(isReadOnly: Bool, busyTimeoutSeconds: Double) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(busyTimeoutSeconds)
        // Records come in file order: references are checked before, and at the end of the transaction.
        configuration.foreignKeysEnabled = false
        configuration.label = "backupfs"
        return configuration
    }
}

/// The present content of a database, with the creation time of an export.
private struct DatedSnapshot: RecordSource {
    let snapshot: DatabaseSnapshot

    var definition: AppDefinition { snapshot.definition }

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try snapshot.visit(with: visitor, createdAt: SystemClock.now().wholeSeconds)
        // Collections about the media folder are generated for each export, and are not part of the database.
        for (index, collection) in definition.collections.enumerated() where collection.source != .table {
            try visitor.beginCollection(index)
        }
    }
}

extension AppDatabase {
    /// SQLite files can identify their application (`PRAGMA application_id`): a file of another application is refused. A file
    /// without an ID may belong to any application.
    /// - Throws: `invalidContent`.
    public func requireSameApplication(as dropped: DroppedDatabase) throws(BackupError) {
        guard let ours = try? read({ (connection) throws(BackupError) in try Self.applicationID(connection, path) }) else {
            return
        }
        var theirs: Int64 = 0
        try dropped.withConnection { (connection) throws(BackupError) in
            theirs = try Self.applicationID(connection, dropped.path)
        }
        guard ours != theirs, ours != 0, theirs != 0 else { return }
        throw BackupError(
            .invalidContent, ImportMessages.failure("the database is another application's"), path: dropped.path,
            findings: ["its application_id is \(theirs), that of the app's database \(ours)"])
    }

    private static func applicationID(_ connection: OpaquePointer?, _ path: String) throws(BackupError) -> Int64 {
        let statement = try DatabaseStatement(connection, "PRAGMA application_id", path: path)
        return try statement.step() ? statement.integer(0) : 0
    }
}
