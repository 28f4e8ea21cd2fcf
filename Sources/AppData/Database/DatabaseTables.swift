import BackupCore
import GRDBSQLite

/// The tables of an open database. Views, virtual tables and generated columns do not count: reading them would run foreign code.
struct DatabaseTables {
    let connection: OpaquePointer?
    let path: String

    /// Tables with data of the app: not SQLite's own tables, and not those of this program and its libraries.
    func names() throws(BackupError) -> [String] {
        // A virtual table has no pages of its own.
        let statement = try DatabaseStatement(
            connection,
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            path: path)
        var names: [String] = []
        while try statement.step() { names.append(statement.text(0)) }
        return names.filter { $0 != RestoreMarker.table && $0 != "grdb_migrations" }
    }

    func contains(_ name: String) throws(BackupError) -> Bool {
        let statement = try DatabaseStatement(
            connection, "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?1", path: path)
        return try withBoundText(name, statement) { () throws(BackupError) in
            try statement.step() && statement.integer(0) > 0
        }
    }

    /// Not a set of texts: Swift may consider two of them equal (`SchemaName`).
    func columns(of table: String, withGenerated: Bool = false) throws(BackupError) -> [String] {
        let statement = try DatabaseStatement(connection, "PRAGMA table_xinfo(\(quotedIdentifier(table)))", path: path)
        var names: [String] = []
        while try statement.step() {
            if withGenerated || statement.integer(6) == 0 { names.append(statement.text(1)) }
        }
        return names
    }

    /// Whether SQL can name a column by its name as read: not if it is not UTF-8, and SQLite may treat an unknown quoted name as a text.
    static func canName(_ column: String) -> Bool { !column.unicodeScalars.contains("\u{FFFD}") }

    func canNameColumns(of table: String) throws(BackupError) -> Bool { try columns(of: table).allSatisfy(Self.canName) }

    /// Runs `body` without CHECK constraints: rows that an app wrote in violation of them, or before it had them, are its own.
    func withoutChecks<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let pragma = "PRAGMA ignore_check_constraints"
        try DatabaseStatement(connection, "\(pragma) = ON", path: path).run()
        let result: Result
        do throws(BackupError) {
            result = try body()
        } catch {
            try? DatabaseStatement(connection, "\(pragma) = OFF", path: path).run()
            throw error
        }
        try DatabaseStatement(connection, "\(pragma) = OFF", path: path).run()
        return result
    }

    private func withBoundText<Result>(
        _ text: String, _ statement: DatabaseStatement, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let buffer = RecordBuffer(fieldCount: 1)
        buffer.set(0, text: text)
        try statement.bind(1, text: buffer.bytes(0))
        return try withExtendedLifetime(buffer) { () throws(BackupError) in try body() }
    }
}
