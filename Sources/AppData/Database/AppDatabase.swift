import BackupCore
import Glibc
import SQLite
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
            let format = (try? definition.format(ofDatabase: connection)) ?? definition
            return try DatabaseSchemaCheck(of: connection, format).firstProblem()
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
        let connection = try DatabaseConnection(path, .readWrite, .app, busyTimeoutSeconds: busyTimeoutSeconds)
        defer { connection.close() }
        connection.refuseQuotedTexts()
        // The migrations' SQL may be untrusted, and is for this file only: it must not attach another one.
        connection.refuseAttaching()
        _ = try connection.text("PRAGMA journal_mode = WAL")
        try migrate(connection, definition)
        connection.close()
        return try AppDatabase(opening: path, definition: definition, busyTimeoutSeconds: busyTimeoutSeconds)
    }

    /// Runs the migrations that the database has not had, each in its own transaction.
    private static func migrate(_ connection: DatabaseConnection, _ definition: AppDefinition) throws(BackupError) {
        guard !definition.migrations.isEmpty else { return }
        let table = DatabaseSchema.migrationsTable
        try connection.execute("CREATE TABLE IF NOT EXISTS \(table) (identifier TEXT NOT NULL PRIMARY KEY)")
        let done = try finishedMigrations(connection)
        for migration in definition.migrations where !done.contains(migration.name) {
            try connection.transaction(.immediate) { () throws(BackupError) in
                try connection.execute(migration.sql)
                try connection.run("INSERT INTO \(table) (identifier) VALUES (?1)", migration.name)
            }
        }
    }

    private static func finishedMigrations(_ connection: DatabaseConnection) throws(BackupError) -> Set<String> {
        let statement = try connection.statement("SELECT identifier FROM \(DatabaseSchema.migrationsTable)")
        var names: Set<String> = []
        while try statement.step() { names.insert(statement.text(0)) }
        return names
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
        let done = try read { connection throws(BackupError) in try Self.finishedMigrations(connection) }
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
            try connection.text("PRAGMA journal_mode") == "wal"
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
                    connection: connection, definition: definition, media: media, avoidsIndexes: avoidsIndexes))
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
    /// - Parameter ranges: the rows that are read, for collections of which all others are known to be allowed, and which no
    ///   other collection refers to. Their keys are row numbers, which SQLite keeps unique.
    /// - Throws: `invalidContent` for rows that no kind of restore accepts.
    public func disallowedValues(only ranges: RowRanges = [:]) throws(BackupError) -> DisallowedValues? {
        try readSnapshot { (snapshot) throws(BackupError) in
            try ImportValidator(definition: snapshot.definition, limitsMetadata: false, acceptsValues: true).validate(
                DatedSnapshot(snapshot: snapshot, ranges: ranges)
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
        try read { connection throws(BackupError) in try RestoreMarker.read(connection) }
    }

    /// - Throws: `busy` while another store's restore is not finished.
    public func requireNoOtherRestore(ownJournalPath: String) throws(BackupError) {
        try restoreMarker()?.requireFinished(ownJournalPath: ownJournalPath, path: path)
    }

    /// Removes the marker of a restore that has ended; keeps that of another restore.
    public func removeRestoreMarker(of operation: String) throws(BackupError) {
        guard try restoreMarker()?.operation == operation else { return }
        try write { (connection) throws(BackupError) in try connection.execute("DROP TABLE IF EXISTS \(RestoreMarker.table)") }
    }

    /// Ensures that a transaction whose commit failed stays rolled back. With a write-ahead log, all of it may be in the log,
    /// including the commit mark, and only the index in memory, which the app shares, excludes it. After the app has died or the
    /// power was cut, the next reader of the log would consider it committed. The commit made here overwrites it, and changes
    /// nothing.
    public func overwriteFailedCommit() throws(BackupError) {
        guard try readersLetWritersPass() else { return }
        try write { (connection) throws(BackupError) in
            let version = try connection.integer("PRAGMA user_version") ?? 0
            // Written to the log even if unchanged.
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }

    private static func notThere(_ path: String) -> BackupError {
        BackupError(.notFound, "the database does not exist", path: path, remedy: "Check the path, or restore a backup.")
    }

    static func requireFile(_ path: String) throws(BackupError) {
        guard let status = try FileSystem.lookBehindLinks(path), status.kind == .regular else { throw notThere(path) }
    }

    // MARK: Connections

    func read<Result>(_ body: (DatabaseConnection) throws(BackupError) -> Result) throws(BackupError) -> Result {
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
        isReadOnly: Bool, _ body: (DatabaseConnection) throws(BackupError) -> Result
    ) throws(BackupError) -> Swift.Result<Result, BackupError> {
        let connection = try open(isReadOnly ? .readOnly : .readWrite)
        defer { connection.close() }
        if definition.coversWholeDatabase {
            // A whole database is read regardless of its collations.
            UnknownCollations.accept(on: connection)
        } else {
            UnknownCollations.acceptWellKnown(on: connection)
        }
        if !isReadOnly { try connection.execute("PRAGMA query_only = ON") }
        return try connection.transaction(.deferred) { () throws(BackupError) in
            // BEGIN alone takes no lock: the first read does, and fixes the state.
            try connection.execute("SELECT count(*) FROM sqlite_master")
            return Swift.Result { () throws(BackupError) in try body(connection) }
        }
    }

    /// One transaction that takes the write lock at its start.
    func write<Result>(_ body: (DatabaseConnection) throws(BackupError) -> Result) throws(BackupError) -> Result {
        let connection = try open(.readWrite)
        defer { connection.close() }
        // SQLite's default, unless it was built otherwise: what others record of a commit must not survive it after a power cut.
        try connection.execute("PRAGMA synchronous = FULL")
        return try connection.transaction(.immediate) { () throws(BackupError) in try body(connection) }
    }

    /// Records come in file order: references are checked before, and at the end of the transaction, and not by SQLite.
    private func open(_ access: DatabaseConnection.Access) throws(BackupError) -> DatabaseConnection {
        guard try exists() else { throw Self.notThere(path) }
        try OrphanedLog.requireNone(ofDatabase: path)
        // A read-only connection rolls nothing back.
        if access == .readWrite { try SuperJournal.requireOwn(ofDatabase: path) }
        let connection = try DatabaseConnection(path, access, .app, busyTimeoutSeconds: busyTimeoutSeconds)
        connection.refuseQuotedTexts()
        // Opening alone reads nothing.
        try connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
        return connection
    }
}

/// The present content of a database, with the creation time of an export.
private struct DatedSnapshot: RecordSource {
    let snapshot: DatabaseSnapshot
    /// The rows that are visited, for collections of which only these are.
    var ranges: RowRanges = [:]

    var definition: AppDefinition { snapshot.definition }

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try snapshot.visit(with: visitor, createdAt: SystemClock.now().wholeSeconds, only: ranges)
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
        let pragma = "PRAGMA application_id"
        guard let ours = try? read({ (connection) throws(BackupError) in try connection.integer(pragma) ?? 0 }) else { return }
        var theirs: Int64 = 0
        try dropped.withConnection { (connection) throws(BackupError) in theirs = try connection.integer(pragma) ?? 0 }
        guard ours != theirs, ours != 0, theirs != 0 else { return }
        throw BackupError(
            .invalidContent, ImportMessages.failure("the database is another application's"), path: dropped.path,
            findings: ["its application_id is \(theirs), that of the app's database \(ours)"])
    }
}
