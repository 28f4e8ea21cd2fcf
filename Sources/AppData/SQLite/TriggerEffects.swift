import BackupCore
import CSQLite
import GRDBSQLite

/// The side effects of triggers on the app's tables when a restore writes to these. Triggers that fill an index (a virtual table,
/// as for full-text search) must run. Those that change an ordinary table must not: rows would be restored with other values, and
/// rows of tables that no collection names would be deleted, without a backup that could restore them.
struct TriggerEffects {
    struct Trigger: Equatable {
        let name: String
        let table: String
        /// The ordinary tables that it changes.
        let changes: [String]
        /// The virtual tables that it fills.
        let indexes: [String]

        var isSuspended: Bool { !changes.isEmpty }
    }

    /// Triggers that a restore would run and that write anything, by name.
    let triggers: [Trigger]

    /// - Parameters:
    ///   - tables: those that a restore writes to.
    ///   - schema: of a connection that may be inside a transaction that has not changed the schema. A separate connection
    ///     analyses the statements, since GRDB needs the authorizer of its own.
    init(of tables: [String], in schema: DatabaseSchema) throws(BackupError) {
        guard !schema.triggers.isEmpty else {
            triggers = []
            return
        }
        let writes = try TriggerWrites(path: schema.path)
        for table in tables.lazy.compactMap(schema.table(exactly:)) { writes.look(at: table) }
        var triggers: [Trigger] = []
        for (name, written) in writes.found.sorted(by: { $0.key < $1.key }) {
            var changes: [String] = []
            var indexes: [String] = []
            for table in written.sorted() {
                // A table that is not found is treated as an ordinary one, which no trigger may change.
                guard let object = schema.object(named: table), !object.hasPages else {
                    changes.append(table)
                    continue
                }
                // A view's own triggers are found separately.
                if !object.isView { indexes.append(table) }
            }
            let table = schema.triggers.first { SchemaName($0.name.text) == SchemaName(name) }?.table ?? ""
            triggers.append(Trigger(name: name, table: table, changes: changes, indexes: indexes))
        }
        self.triggers = triggers
    }

    var suspended: [Trigger] { triggers.filter(\.isSuspended) }

    /// Triggers that a restore both must and must not run.
    private var mixed: [Trigger] { triggers.filter { $0.isSuspended && !$0.indexes.isEmpty } }

    /// A restore's warning about triggers that it does not run.
    var warning: Message? {
        guard !suspended.isEmpty else { return nil }
        return
            "triggers of the app's database that change tables do not run in a restore, so rows are as in the file: \(Self.list(suspended))"
    }

    /// What a backup and `verify` report for a database that no restore can write to.
    var problem: Message? {
        guard let first = mixed.first else { return nil }
        return """
            the trigger \(Self.name(first.name)) of the table \(Self.name(first.table)) fills the index \(Self.names(first.indexes)), and changes \
            the table \(Self.names(first.changes)) as well: a restore must run it, and must not
            """
    }

    /// The advice for it.
    static let problemRemedy: Message = "Make two triggers of it, one for the index and one for the rest."

    /// - Throws: `notSupported` for a trigger that a restore both must and must not run.
    func requireNoProblem(path: String) throws(BackupError) {
        guard let problem else { return }
        throw BackupError(
            .notSupported, "Import failed: \(problem)", path: path, remedy: "Nothing was changed. \(Self.problemRemedy)")
    }

    private static func list(_ triggers: [Trigger]) -> String {
        triggers.map { "\(name($0.name)) (\(names($0.changes)))" }.joined(separator: ", ")
    }

    static func names(_ names: [String]) -> String { names.map(name).joined(separator: ", ") }

    private static func name(_ name: String) -> String { MessageText.shortened(name) }
}

/// Finds the tables that a table's triggers write to, from the statements that SQLite prepares for them: none is run.
private final class TriggerWrites {
    /// By trigger name
    private(set) var found: [String: Set<String>] = [:]
    private var connection: OpaquePointer?

    init(path: String) throws(BackupError) {
        try OrphanedLog.requireNone(ofDatabase: path)
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &connection, flags, nil) == SQLITE_OK else {
            let failure = DatabaseFailure.last(connection, path: path)
            sqlite3_close_v2(connection)
            throw failure
        }
        sqlite3_set_authorizer(
            connection,
            { context, action, table, _, _, trigger in
                guard [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action), let context, let table, let trigger else {
                    return SQLITE_OK
                }
                Unmanaged<TriggerWrites>.fromOpaque(context).takeUnretainedValue()
                    .found[String(cString: trigger), default: []].insert(String(cString: table))
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { sqlite3_close_v2(connection) }

    /// A statement that SQLite cannot prepare fails in a restore, too, which then reports why.
    func look(at table: DatabaseSchema.Table) {
        let name = quotedIdentifier(table.name.text)
        let columns = table.storedColumns.sorted().map(quotedIdentifier)
        for sql in [
            "INSERT INTO \(name) DEFAULT VALUES", "DELETE FROM \(name)",
            "UPDATE \(name) SET " + columns.map { "\($0) = \($0)" }.joined(separator: ", "),
        ] {
            var statement: OpaquePointer?
            sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
            sqlite3_finalize(statement)
        }
    }
}

/// Triggers of one connection.
enum DatabaseTriggers {
    /// Disables all triggers on this connection.
    static func disable(_ connection: OpaquePointer?) { _ = backupfs_disable_triggers(connection) }
}

/// Suspends triggers while a restore writes, inside its transaction.
struct SuspendedTriggers {
    private let connection: OpaquePointer?
    private let path: String
    /// All triggers of the database, if any is suspended: at the end they are created again in their order, in which SQLite runs
    /// them.
    private var all: [(name: String, sql: String)] = []

    /// - Throws: `notSupported` for a trigger that a restore both must and must not run.
    init(_ effects: TriggerEffects, in schema: DatabaseSchema) throws(BackupError) {
        connection = schema.connection
        path = schema.path
        try effects.requireNoProblem(path: path)
        guard !effects.suspended.isEmpty else { return }
        // SQLite can disable all triggers or none, and some must run. Other connections see the same schema before and after the
        // transaction.
        for trigger in schema.triggers { all.append((try trigger.name.valid("a trigger", path: path), trigger.sql)) }
        for trigger in effects.suspended { try drop(trigger.name) }
    }

    /// Must be called before the commit.
    func end() throws(BackupError) {
        for trigger in all { try drop(trigger.name) }
        for trigger in all { try DatabaseStatement(connection, trigger.sql, path: path).run() }
    }

    private func drop(_ name: String) throws(BackupError) {
        try DatabaseStatement(connection, "DROP TRIGGER IF EXISTS main.\(quotedIdentifier(name))", path: path).run()
    }
}
