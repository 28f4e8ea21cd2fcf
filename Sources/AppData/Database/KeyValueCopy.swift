import BackupCore
import GRDBSQLite

/// Copies the values of named keys from a backup's key/value table, with type and bytes unchanged: a date keeps its time zone, a number its spelling, and
/// NULL is also a value.
struct KeyValueCopy {
    private let target: DatabaseTables
    private let table: String
    private let rows: DatabaseStatement
    private let update: DatabaseStatement
    private let insertion: DatabaseStatement

    /// - Returns: `nil` when one of the databases lacks the table.
    init?(of table: String, from source: DatabaseTables, to target: DatabaseTables) throws(BackupError) {
        guard try source.hasKeysAndValues(table), try target.hasKeysAndValues(table) else { return nil }
        self.target = target
        self.table = table
        let name = quotedIdentifier(table)
        // Keys are compared by their bytes, as in reads, regardless of the column's collation. If several rows have a key, the last one counts.
        let isKey = "\"key\" = ?1 COLLATE BINARY"
        rows = try DatabaseStatement(
            source.connection, "SELECT \"value\" FROM main.\(name) WHERE \(isKey) AND typeof(\"key\") = 'text'", path: source.path
        )
        update = try DatabaseStatement(
            target.connection, "UPDATE main.\(name) SET \"value\" = ?2 WHERE \(isKey)", path: target.path)
        insertion = try DatabaseStatement(
            target.connection, "INSERT INTO main.\(name) (\"key\", \"value\") VALUES (?1, ?2)", path: target.path)
    }

    /// An existing row stays in place, and only its value is written.
    /// - Returns: whether the backup has the key, with a value that the table accepts.
    func copy(_ key: String) throws(BackupError) -> Bool {
        let text = RecordBuffer(fieldCount: 1)
        text.set(0, text: key)
        return try withExtendedLifetime(text) { () throws(BackupError) in
            for statement in [rows, update, insertion] { try statement.bind(1, text: text.bytes(0)) }
            defer { rows.reset() }
            var isCopied = false
            while try rows.step() {
                if rows.columnType(0) == SQLITE_NULL, try !KeyValueRow(target, table).mayBeNull() { continue }
                isCopied = true
                try write()
            }
            return isCopied
        }
    }

    private func write() throws(BackupError) {
        for statement in [update, insertion] {
            try statement.bind(2, value: 0, of: rows)
            try statement.run()
            if sqlite3_changes(target.connection) > 0 { return }
        }
    }
}

extension DatabaseTables {
    fileprivate func hasKeysAndValues(_ table: String) throws(BackupError) -> Bool {
        guard try contains(table) else { return false }
        let names = try columns(of: table).map { $0.lowercased() }
        return names.contains("key") && names.contains("value")
    }
}

extension KeyValueRow {
    fileprivate init(_ tables: DatabaseTables, _ table: String) {
        self.init(connection: tables.connection, table: table, path: tables.path)
    }
}
