import BackupCore

/// What SQLite finds wrong with an open database, without what some versions say of sound ones.
///
/// SQLite 3.40 takes columns that are NOT NULL for null in tables WITHOUT ROWID whose primary key is not made of the first columns in their order,
/// in every row, in both of its checks. The table itself is asked then.
struct IntegrityCheck {
    enum Depth: String {
        /// Without comparing indexes with their tables.
        case quick = "quick_check"
        case full = "integrity_check"
    }

    private struct Column {
        let table: String
        let name: String
    }

    private static let falsePrefix = "NULL value in "
    /// What the first look multiplies its limit with, again and again, while what it finds is false.
    private static let limitGrowth = 1_024

    private let depth: Depth
    private let tables: DatabaseTables

    init(_ depth: Depth, of tables: DatabaseTables) {
        self.depth = depth
        self.tables = tables
    }

    /// - Parameter limit: problems after which it stops looking for more; at least 1.
    /// - Returns: in SQLite's words. Rows that break a CHECK do not count.
    func problems(limit: Int) throws(BackupError) -> [String] {
        try tables.withoutChecks { () throws(BackupError) in
            var suspects: [String: [Column]]?
            var verdicts: [String: Bool] = [:]
            var lineLimit = limit
            while true {
                var lineCount = 0
                var problems: [String] = []
                let statement = try DatabaseStatement(
                    tables.connection, "PRAGMA \(depth.rawValue)(\(lineLimit))", path: tables.path)
                while problems.count < limit, try statement.step() {
                    let line = statement.text(0)
                    if line == "ok" { return [] }
                    lineCount += 1
                    if line.hasPrefix(Self.falsePrefix) {
                        if verdicts[line] == nil {
                            if suspects == nil { suspects = try self.suspects() }
                            verdicts[line] = try isFalse(suspects?[line] ?? [])
                        }
                        if verdicts[line] == true { continue }
                    }
                    problems.append(line)
                }
                if lineCount == 0 { return ["no answer"] }
                // It may have stopped before what is wrong.
                guard problems.count < limit, lineCount >= lineLimit, lineLimit < Int(Int32.max) else { return problems }
                lineLimit = min(lineLimit.multipliedSaturating(by: Self.limitGrowth), Int(Int32.max))
            }
        }
    }

    /// The columns of which such a line may be false, by the line. Two can have the same.
    private func suspects() throws(BackupError) -> [String: [Column]] {
        var suspects: [String: [Column]] = [:]
        let statement = try DatabaseStatement(
            tables.connection,
            """
            SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
            WHERE t.schema = 'main' AND t.type = 'table' AND t.wr = 1 AND c."notnull" = 1
            """, path: tables.path)
        while try statement.step() {
            let column = Column(table: statement.text(0), name: statement.text(1))
            suspects["\(Self.falsePrefix)\(column.table).\(column.name)", default: []].append(column)
        }
        return suspects
    }

    /// Whether none of the columns has a NULL. `IS NULL` would not be asked of a column that is NOT NULL.
    private func isFalse(_ columns: [Column]) throws(BackupError) -> Bool {
        guard !columns.isEmpty else { return false }
        for column in columns {
            guard DatabaseTables.canName(column.name), DatabaseTables.canName(column.table) else { return false }
            let statement = try DatabaseStatement(
                tables.connection,
                """
                SELECT 1 FROM main.\(quotedIdentifier(column.table)) NOT INDEXED
                WHERE typeof(\(quotedIdentifier(column.name))) = 'null' LIMIT 1
                """, path: tables.path)
            if try statement.step() { return false }
        }
        return true
    }
}
