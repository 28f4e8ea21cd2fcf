import BackupCore

/// Runs SQLite's check of an open database, without the false reports of some versions.
///
/// SQLite 3.40 mistakes one column for another in tables WITHOUT ROWID whose primary key is not made of the first columns in their order, in both of its
/// checks: it reports NULL in a NOT NULL column, and values of a type that the column cannot have. Such reports are verified with a query of the table.
struct IntegrityCheck {
    enum Depth: String {
        /// Without comparing indexes with their tables.
        case quick = "quick_check"
        case full = "integrity_check"
    }

    private struct Column {
        let table: String
        let name: String
        let isWithoutRowID: Bool
    }

    /// A line, or the end of one, as bytes: Swift attaches an accent at the start of a name to the preceding space, and considers texts equal that differ
    /// only in Unicode normalisation.
    private typealias Line = [UInt8]

    /// Prefixes of lines that may be false, with the condition that holds for a row if the line is true. SQLite would not evaluate `IS NULL` on a NOT NULL
    /// column.
    private static let falsePrefixes: [(prefix: String, condition: @Sendable (_ column: String) -> String)] = [
        ("NULL value in ", { "typeof(\($0)) = 'null'" }),
        // In a text column
        ("NUMERIC value in ", { "typeof(\($0)) IN ('integer', 'real')" }),
        // In a numeric column: a text that reads as a number, and so is at most infinity in a comparison with one.
        ("TEXT value in ", { "typeof(\($0)) = 'text' AND CAST(9e999 AS REAL) >= CAST(\($0) AS TEXT)" }),
        // In STRICT tables
        ("non-INT value in ", { "typeof(\($0)) NOT IN ('integer', 'null')" }),
        ("non-INTEGER value in ", { "typeof(\($0)) NOT IN ('integer', 'null')" }),
        ("non-REAL value in ", { "typeof(\($0)) NOT IN ('real', 'null')" }),
        ("non-TEXT value in ", { "typeof(\($0)) NOT IN ('text', 'null')" }),
        ("non-BLOB value in ", { "typeof(\($0)) NOT IN ('blob', 'null')" }),
    ]
    /// The factor by which the line limit grows while all reports are false.
    private static let limitGrowth = 1_024

    private let depth: Depth
    private let tables: DatabaseTables

    init(_ depth: Depth, of tables: DatabaseTables) {
        self.depth = depth
        self.tables = tables
    }

    /// - Parameter limit: the number of problems after which it stops; at least 1.
    /// - Returns: the problems in SQLite's words. Rows that violate a CHECK do not count.
    func problems(limit: Int) throws(BackupError) -> [String] {
        try tables.withoutChecks { () throws(BackupError) in
            var suspects: [Line: [Column]]?
            var verdicts: [Line: Bool] = [:]
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
                    let bytes = Line(line.utf8)
                    if let kind = Self.falsePrefixes.first(where: { bytes.starts(with: $0.prefix.utf8) }) {
                        if verdicts[bytes] == nil {
                            if suspects == nil { suspects = try self.suspects() }
                            let columns = suspects?[Line(bytes.dropFirst(kind.prefix.utf8.count))] ?? []
                            verdicts[bytes] = try isFalse(columns, kind.condition)
                        }
                        if verdicts[bytes] == true { continue }
                    }
                    problems.append(line)
                }
                if lineCount == 0 { return ["no answer"] }
                // SQLite may have stopped before the real problems.
                guard problems.count < limit, lineCount >= lineLimit, lineLimit < Int(Int32.max) else { return problems }
                lineLimit = min(lineLimit.multipliedSaturating(by: Self.limitGrowth), Int(Int32.max))
            }
        }
    }

    /// The columns for which such a line may be false, by the line's end. Two can have the same. Includes tables with row numbers: their lines are true, and
    /// the query finds a row that proves it.
    private func suspects() throws(BackupError) -> [Line: [Column]] {
        var suspects: [Line: [Column]] = [:]
        let statement = try DatabaseStatement(
            tables.connection,
            """
            SELECT t.name, c.name, t.wr FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
            WHERE t.schema = 'main' AND t.type IN ('table', 'shadow')
            """, path: tables.path)
        while try statement.step() {
            let column = Column(
                table: statement.text(0), name: statement.text(1), isWithoutRowID: statement.integer(2) == 1)
            suspects[Line("\(column.table).\(column.name)".utf8), default: []].append(column)
        }
        return suspects
    }

    /// Whether no row makes the line true for any of the columns.
    private func isFalse(_ columns: [Column], _ condition: (_ column: String) -> String) throws(BackupError) -> Bool {
        guard columns.contains(where: \.isWithoutRowID) else { return false }
        for column in columns {
            guard DatabaseTables.canName(column.name), DatabaseTables.canName(column.table) else { return false }
            let statement = try DatabaseStatement(
                tables.connection,
                """
                SELECT 1 FROM main.\(quotedIdentifier(column.table)) NOT INDEXED
                WHERE \(condition(quotedIdentifier(column.name))) LIMIT 1
                """, path: tables.path)
            if try statement.step() { return false }
        }
        return true
    }
}
