import BackupCore

/// Indexes with computed entries: on expressions, or partial ones. In a UTF-16 database, a function sees different bytes for a blob being inserted than for
/// a stored one: SQLite converts bound values, and then the entry does not match its row.
extension DatabaseTables {
    /// Rebuilds such indexes from the stored rows. In a UTF-8 database they are correct.
    func rebuildComputedIndexes(of tables: [String]) throws(BackupError) {
        let encoding = try DatabaseStatement(connection, "PRAGMA main.encoding", path: path)
        guard try encoding.step(), encoding.text(0) != "UTF-8" else { return }
        for table in tables {
            for index in try computedIndexes(of: table) {
                try DatabaseStatement(connection, "REINDEX main.\(quotedIdentifier(index))", path: path).run()
            }
        }
    }

    private func computedIndexes(of table: String) throws(BackupError) -> [String] {
        let indexes = try DatabaseStatement(connection, "PRAGMA main.index_list(\(quotedIdentifier(table)))", path: path)
        var computed: [String] = []
        while try indexes.step() {
            let name = indexes.text(1)
            let isPartial = indexes.integer(4) != 0
            if isPartial ? true : try hasExpression(name) { computed.append(name) }
        }
        return computed
    }

    private func hasExpression(_ index: String) throws(BackupError) -> Bool {
        let columns = try DatabaseStatement(connection, "PRAGMA main.index_xinfo(\(quotedIdentifier(index)))", path: path)
        while try columns.step() {
            // The column number of an expression.
            if columns.integer(1) == -2 { return true }
        }
        return false
    }
}
