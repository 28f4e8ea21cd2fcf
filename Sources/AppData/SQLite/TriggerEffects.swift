import BackupCore
import SQLite

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
    ///     analyses the statements.
    init(of tables: [String], in schema: DatabaseSchema) throws(BackupError) {
        guard !schema.triggers.isEmpty else {
            triggers = []
            return
        }
        let written = try Self.tablesWritten(by: tables.compactMap(schema.table(exactly:)), path: schema.path)
        var triggers: [Trigger] = []
        for (name, tables) in written.sorted(by: { $0.key < $1.key }) {
            var changes: [String] = []
            var indexes: [String] = []
            for table in tables.sorted() {
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

    /// The tables that triggers write to when rows of these tables are written, by trigger. A statement that SQLite cannot
    /// prepare fails in a restore, too, which then reports why.
    private static func tablesWritten(
        by tables: [DatabaseSchema.Table], path: String
    ) throws(BackupError) -> [String: Set<String>] {
        try OrphanedLog.requireNone(ofDatabase: path)
        let connection = try DatabaseConnection(path, .readOnly, .app)
        defer { connection.close() }
        return connection.tablesWrittenByTriggers(
            in: tables.flatMap { table in
                let name = quotedIdentifier(table.name.text)
                let columns = table.storedColumns.sorted().map(quotedIdentifier)
                return [
                    "INSERT INTO \(name) DEFAULT VALUES", "DELETE FROM \(name)",
                    "UPDATE \(name) SET " + columns.map { "\($0) = \($0)" }.joined(separator: ", "),
                ]
            })
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

/// Suspends triggers while a restore writes, inside its transaction.
struct SuspendedTriggers {
    private let connection: DatabaseConnection
    /// All triggers of the database, if any is suspended: at the end they are created again in their order, in which SQLite runs
    /// them.
    private var all: [(name: String, sql: String)] = []

    /// - Throws: `notSupported` for a trigger that a restore both must and must not run.
    init(_ effects: TriggerEffects, in schema: DatabaseSchema) throws(BackupError) {
        connection = schema.connection
        try effects.requireNoProblem(path: schema.path)
        guard !effects.suspended.isEmpty else { return }
        // SQLite can disable all triggers or none, and some must run. Other connections see the same schema before and after the
        // transaction.
        for trigger in schema.triggers { all.append((try trigger.name.valid("a trigger", path: schema.path), trigger.sql)) }
        for trigger in effects.suspended { try drop(trigger.name) }
    }

    /// Must be called before the commit.
    func end() throws(BackupError) {
        for trigger in all { try drop(trigger.name) }
        for trigger in all { try connection.run(trigger.sql) }
    }

    private func drop(_ name: String) throws(BackupError) {
        try connection.run("DROP TRIGGER IF EXISTS main.\(quotedIdentifier(name))")
    }
}
