import BackupCore

/// What SQLite finds wrong with an open database, without what some versions say of sound ones.
///
/// SQLite 3.40 takes one column for another in tables WITHOUT ROWID whose primary key is not made of the first columns in their order, in both of its
/// checks: it finds NULL where a column is NOT NULL, and values of a type that the column cannot have. The table itself is asked then.
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

    /// A line, or the end of one, by its bytes: to Swift an accent that a name begins with belongs to the blank before it, and texts are the same that
    /// differ only in the normal form of Unicode.
    private typealias Line = [UInt8]

    /// How lines begin that may be false, with the condition of a row of which one is true. `IS NULL` would not be asked of a column that is NOT NULL.
    private static let falsePrefixes: [(prefix: String, condition: @Sendable (_ column: String) -> String)] = [
        ("NULL value in ", { "typeof(\($0)) = 'null'" }),
        // In a column of texts.
        ("NUMERIC value in ", { "typeof(\($0)) IN ('integer', 'real')" }),
        // In a column of numbers: a text that reads as a number, and so is at most infinity when it is compared with one.
        ("TEXT value in ", { "typeof(\($0)) = 'text' AND CAST(9e999 AS REAL) >= CAST(\($0) AS TEXT)" }),
        // In tables that are STRICT.
        ("non-INT value in ", { "typeof(\($0)) NOT IN ('integer', 'null')" }),
        ("non-INTEGER value in ", { "typeof(\($0)) NOT IN ('integer', 'null')" }),
        ("non-REAL value in ", { "typeof(\($0)) NOT IN ('real', 'null')" }),
        ("non-TEXT value in ", { "typeof(\($0)) NOT IN ('text', 'null')" }),
        ("non-BLOB value in ", { "typeof(\($0)) NOT IN ('blob', 'null')" }),
    ]
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
                // It may have stopped before what is wrong.
                guard problems.count < limit, lineCount >= lineLimit, lineLimit < Int(Int32.max) else { return problems }
                lineLimit = min(lineLimit.multipliedSaturating(by: Self.limitGrowth), Int(Int32.max))
            }
        }
    }

    /// The columns of which such a line may be false, by how the line ends. Two can have the same. Those of tables with row numbers are among them: their
    /// lines are true, and a row that makes one true is found in them.
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

    /// Whether no row is such that the line is true of one of the columns.
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
