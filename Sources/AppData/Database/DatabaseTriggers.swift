import BackupCore
import CSQLite

/// Triggers of one connection.
enum DatabaseTriggers {
    /// Disables all triggers on this connection.
    static func disable(_ connection: OpaquePointer?) { _ = backupfs_disable_triggers(connection) }
}

/// Suspends triggers while a restore writes, inside its transaction.
struct SuspendedTriggers {
    private let connection: OpaquePointer?
    private let path: String
    /// All triggers of the database, if any is suspended: at the end they are created again in their order, in which SQLite runs them.
    private var all: [(name: String, sql: String)] = []

    /// - Throws: `notSupported` for a trigger that a restore both must and must not run.
    init(_ effects: TriggerEffects, connection: OpaquePointer?, path: String) throws(BackupError) {
        self.connection = connection
        self.path = path
        try effects.requireNoProblem(path: path)
        guard !effects.suspended.isEmpty else { return }
        // SQLite can disable all triggers or none, and some must run. Other connections see the same schema before and after the transaction.
        let statement = try DatabaseStatement(
            connection, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid", path: path)
        while try statement.step() { all.append((try statement.name(0, of: "a trigger"), statement.text(1))) }
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
