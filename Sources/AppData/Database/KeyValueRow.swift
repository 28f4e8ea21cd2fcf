import BackupCore

/// The rows of a key/value table, which may have columns that no definition names.
struct KeyValueRow {
    private struct Column {
        let name: String
        /// The SQL of its default, if it has one.
        let defaultExpression: String?
    }

    /// The name of a column's default in a query: no table of an app has this name.
    private static let defaults = "backupfs_default"

    let connection: OpaquePointer?
    let table: String
    let path: String

    /// An extra column in which a row of the key has a value that could not be restored. A row number that only identifies the row does not count, and neither
    /// does the default of a new row.
    func columnToKeep(of key: String) throws(BackupError) -> String? {
        for column in try furtherColumns() {
            if try hasValue(column.name, "IS NOT NULL", key) == false { continue }
            if let expression = column.defaultExpression, try isDefault(column.name, expression, key) { continue }
            return column.name
        }
        return nil
    }

    /// Whether the value of a key may be null.
    func mayBeNull() throws(BackupError) -> Bool {
        let statement = try DatabaseStatement(
            connection, "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name = 'value' COLLATE NOCASE AND \"notnull\" = 0 AND pk = 0",
            path: path)
        return try bound([table], to: statement) { () throws(BackupError) in try statement.step() }
    }

    private func furtherColumns() throws(BackupError) -> [Column] {
        let statement = try DatabaseStatement(
            connection,
            """
            SELECT name, dflt_value FROM pragma_table_xinfo(?1)
            WHERE hidden = 0 AND pk = 0 AND name COLLATE NOCASE NOT IN ('key', 'value') ORDER BY cid
            """, path: path)
        return try bound([table], to: statement) { () throws(BackupError) in
            var columns: [Column] = []
            while try statement.step() {
                let expression = statement.text(1)
                columns.append(Column(name: statement.text(0), defaultExpression: expression.isEmpty ? nil : expression))
            }
            return columns
        }
    }

    /// SQLite treats a name in a default as a text. A default that needs the app's own functions cannot be compared.
    private func isDefault(_ column: String, _ expression: String, _ key: String) throws(BackupError) -> Bool {
        let condition = "IS NOT (SELECT value FROM \(Self.defaults))"
        do throws(BackupError) {
            return try !hasValue(column, condition, key, default: expression)
        } catch let error where error.code == .invalidContent {
            return try !hasValue(column, condition, key, default: Self.text(named: expression))
        }
    }

    /// A name, quoted or not, as an SQL text.
    private static func text(named expression: String) -> String {
        var name = expression
        if name.count > 1, name.hasPrefix("\""), name.hasSuffix("\"") {
            name = String(name.dropFirst().dropLast()).replacing("\"\"", with: "\"")
        }
        return "'\(name.replacing("'", with: "''"))'"
    }

    /// - Parameter expression: evaluated where names in it cannot refer to a column of the table.
    private func hasValue(
        _ column: String, _ condition: String, _ key: String, default expression: String = "NULL"
    ) throws(BackupError) -> Bool {
        let statement = try DatabaseStatement(
            connection,
            """
            WITH \(Self.defaults) (value) AS (SELECT \(expression)) SELECT 1 FROM main.\(quotedIdentifier(table))
            WHERE "key" = ?1 COLLATE BINARY AND \(quotedIdentifier(column)) \(condition) LIMIT 1
            """, path: path)
        return try bound([key], to: statement) { () throws(BackupError) in try statement.step() }
    }

    private func bound<Result>(
        _ texts: [String], to statement: DatabaseStatement, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let buffer = RecordBuffer(fieldCount: texts.count)
        for (index, text) in texts.enumerated() {
            buffer.set(index, text: text)
            try statement.bind(Int32(index + 1), text: buffer.bytes(index))
        }
        return try withExtendedLifetime(buffer) { () throws(BackupError) in try body() }
    }
}
