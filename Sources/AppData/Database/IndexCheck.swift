import BackupCore

/// Checks whether the indexes of an open database have as many entries as their tables have rows. SQLite's quick check does not do that, and its full
/// check takes many times as long; but a query that uses such an index silently lacks rows.
struct IndexCheck {
    let tables: DatabaseTables

    /// - Returns: the first problem; `nil` when there is none. Skips partial indexes.
    func problem() throws(BackupError) -> String? {
        for table in try tables.names() where DatabaseTables.canName(table) {
            let indexes = try indexes(of: table)
            guard !indexes.isEmpty, let rows = try count(of: table, "NOT INDEXED") else { continue }
            for index in indexes {
                guard let entries = try count(of: table, "INDEXED BY \(quotedIdentifier(index))"), entries != rows else {
                    continue
                }
                return "the index \(index) has \(entries) entries for the \(rows) rows of the table \(table); REINDEX rebuilds it"
            }
        }
        return nil
    }

    private func indexes(of table: String) throws(BackupError) -> [String] {
        let statement = try DatabaseStatement(
            tables.connection, "PRAGMA main.index_list(\(quotedIdentifier(table)))", path: tables.path)
        var names: [String] = []
        while try statement.step() {
            let name = statement.text(1)
            if statement.integer(4) == 0, DatabaseTables.canName(name) { names.append(name) }
        }
        return names
    }

    /// - Returns: `nil` where SQLite does not count that way: the primary key of a table WITHOUT ROWID is the table itself, and an index may need a
    ///   function of the app.
    private func count(of table: String, _ way: String) throws(BackupError) -> Int64? {
        // Without a condition SQLite counts the smallest index, regardless of the named one.
        let sql = "SELECT count(*) FROM main.\(quotedIdentifier(table)) \(way) WHERE true"
        guard let statement = try? DatabaseStatement(tables.connection, sql, path: tables.path), try statement.step() else {
            return nil
        }
        return statement.integer(0)
    }
}
