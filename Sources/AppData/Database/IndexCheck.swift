import BackupCore

/// Whether the indexes of an open database have as many entries as their tables have rows. SQLite's quick check does not look at that, and its full
/// one takes many times as long; but what is read in the order of such an index lacks rows without a word.
struct IndexCheck {
    let tables: DatabaseTables

    /// - Returns: the first that is wrong; `nil` when none is. Indexes of a part of the rows are passed over.
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
    ///   function of the app's.
    private func count(of table: String, _ way: String) throws(BackupError) -> Int64? {
        // Without a condition SQLite counts the smallest index, whichever is named.
        let sql = "SELECT count(*) FROM main.\(quotedIdentifier(table)) \(way) WHERE true"
        guard let statement = try? DatabaseStatement(tables.connection, sql, path: tables.path), try statement.step() else {
            return nil
        }
        return statement.integer(0)
    }
}
