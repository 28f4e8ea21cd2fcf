import BackupCore
import CSQLite

/// Triggers of one connection.
enum DatabaseTriggers {
    /// No trigger runs any more, whatever this connection does.
    static func disable(_ connection: OpaquePointer?) { _ = backupfs_disable_triggers(connection) }
}

/// Triggers that do not run while a restore writes, inside its transaction.
struct SuspendedTriggers {
    private let connection: OpaquePointer?
    private let path: String
    /// All of the database, if any is suspended: in the end they are made again in their order, by which SQLite runs them.
    private var all: [(name: String, sql: String)] = []

    /// - Throws: `notSupported` for a trigger that a restore must run and must not run.
    init(_ effects: TriggerEffects, connection: OpaquePointer?, path: String) throws(BackupError) {
        self.connection = connection
        self.path = path
        try effects.requireNoProblem(path: path)
        guard !effects.suspended.isEmpty else { return }
        // SQLite can disable all triggers or none, and some must run. Others see the schema of before and after the transaction, which is the same.
        let statement = try DatabaseStatement(
            connection, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid", path: path)
        while try statement.step() { all.append((try statement.name(0, of: "a trigger"), statement.text(1))) }
        for trigger in effects.suspended { try drop(trigger.name) }
    }

    /// To be called before the commit.
    func end() throws(BackupError) {
        for trigger in all { try drop(trigger.name) }
        for trigger in all { try DatabaseStatement(connection, trigger.sql, path: path).run() }
    }

    private func drop(_ name: String) throws(BackupError) {
        try DatabaseStatement(connection, "DROP TRIGGER IF EXISTS main.\(quotedIdentifier(name))", path: path).run()
    }
}
