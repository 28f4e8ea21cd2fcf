import BackupCore

/// Indexes whose entries SQLite computes: of expressions, or of some rows only. In a database of UTF-16 a function gets other bytes of a blob that is
/// being inserted than of one that is stored: SQLite converts what is bound, and the entry does not fit its row then.
extension DatabaseTables {
    /// Makes the entries of such indexes once more, from what is stored. Those of a database of UTF-8 are right.
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
            // The number of a column that is an expression.
            if columns.integer(1) == -2 { return true }
        }
        return false
    }
}
