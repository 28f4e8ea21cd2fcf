import BackupCore
import SQLite

/// Runs SQLite's check of an open database, without the false reports of some versions.
///
/// SQLite 3.40 mistakes one column for another in tables WITHOUT ROWID whose primary key is not made of the first columns in
/// their order, in both of its checks: it reports NULL in a NOT NULL column, and values of a type that the column cannot have.
/// Such reports are verified with a query of the table.
struct IntegrityCheck {
    enum Depth: String {
        /// Without comparing indexes with their tables.
        case quick = "quick_check"
        case full = "integrity_check"
    }

    private typealias Column = (table: String, name: String, isWithoutRowID: Bool)

    /// A line, or the end of one, as bytes: Swift attaches an accent at the start of a name to the preceding space, and considers
    /// texts equal that differ only in Unicode normalisation.
    private typealias Line = [UInt8]

    /// Prefixes of lines that may be false, with the condition that holds for a row if the line is true. SQLite would not
    /// evaluate `IS NULL` on a NOT NULL column.
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
    private let connection: DatabaseConnection

    init(_ depth: Depth, of connection: DatabaseConnection) {
        self.depth = depth
        self.connection = connection
    }

    /// - Parameter limit: the number of problems after which it stops; at least 1.
    /// - Returns: the problems in SQLite's words. Rows that violate a CHECK do not count.
    func problems(limit: Int) throws(BackupError) -> [String] {
        try connection.withoutChecks { () throws(BackupError) in
            var suspects: [Line: [Column]]?
            var verdicts: [Line: Bool] = [:]
            var lineLimit = limit
            while true {
                var lineCount = 0
                var problems: [String] = []
                let statement = try connection.statement("PRAGMA \(depth.rawValue)(\(lineLimit))")
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

    /// The columns for which such a line may be false, by the line's end. Two can have the same. Includes tables with row
    /// numbers: their lines are true, and the query finds a row that proves it.
    private func suspects() throws(BackupError) -> [Line: [Column]] {
        let schema = try DatabaseSchema.read(connection)
        let withoutRowID = try schema.kinds().withoutRowID
        var suspects: [Line: [Column]] = [:]
        for table in schema.tables.lazy.filter(\.hasPages) {
            let name = table.name.text
            for column in table.columns.lazy.map(\.name.text) {
                suspects[Line("\(name).\(column)".utf8), default: []].append(
                    (name, column, withoutRowID.contains(SchemaName(name))))
            }
        }
        return suspects
    }

    /// Whether no row makes the line true for any of the columns.
    private func isFalse(_ columns: [Column], _ condition: (_ column: String) -> String) throws(BackupError) -> Bool {
        guard columns.contains(where: \.isWithoutRowID) else { return false }
        for column in columns {
            guard DatabaseSchema.canName(column.name), DatabaseSchema.canName(column.table) else { return false }
            let statement = try connection.statement(
                """
                SELECT 1 FROM main.\(quotedIdentifier(column.table)) NOT INDEXED
                WHERE \(condition(quotedIdentifier(column.name))) LIMIT 1
                """)
            if try statement.step() { return false }
        }
        return true
    }
}

/// Checks whether the indexes of an open database have as many entries as their tables have rows. SQLite's quick check does not
/// do that, and its full check takes many times as long; but a query that uses such an index silently lacks rows.
struct IndexCheck {
    let schema: DatabaseSchema

    /// - Returns: the first problem; `nil` when there is none. Skips partial indexes.
    func problem() throws(BackupError) -> String? {
        for table in schema.names where DatabaseSchema.canName(table) {
            let indexes = try schema.indexes(of: table).filter { !$0.isPartial && DatabaseSchema.canName($0.name) }.map(\.name)
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

    /// - Returns: `nil` where SQLite does not count that way: the primary key of a table WITHOUT ROWID is the table itself, and
    ///   an index may need a function of the app.
    private func count(of table: String, _ way: String) throws(BackupError) -> Int64? {
        // Without a condition SQLite counts the smallest index, regardless of the named one.
        let sql = "SELECT count(*) FROM main.\(quotedIdentifier(table)) \(way) WHERE true"
        guard let statement = try? schema.connection.statement(sql), try statement.step() else {
            return nil
        }
        return statement.integer(0)
    }
}

/// Indexes with computed entries: on expressions, or partial ones. In a UTF-16 database, a function sees different bytes for a
/// blob being inserted than for a stored one: SQLite converts bound values, and then the entry does not match its row.
extension DatabaseSchema {
    /// Rebuilds such indexes from the stored rows. In a UTF-8 database they are correct.
    func rebuildComputedIndexes(of tables: [String]) throws(BackupError) {
        let encoding = try connection.statement("PRAGMA main.encoding")
        guard try encoding.step(), encoding.text(0) != "UTF-8" else { return }
        for table in tables {
            for index in try indexes(of: table) where try isComputed(index) {
                try connection.run("REINDEX main.\(quotedIdentifier(index.name))")
            }
        }
    }
}

extension DatabaseConnection {
    /// Runs `body` without CHECK constraints: rows that an app wrote in violation of them, or before it had them, are its own.
    func withoutChecks<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        try execute("PRAGMA ignore_check_constraints = ON")
        defer { try? execute("PRAGMA ignore_check_constraints = OFF") }
        return try body()
    }
}

/// Rows of a database that refer to missing rows, counted by table and referenced table. SQLite checks that only for apps that
/// ask for it.
struct DanglingReferences {
    private struct Reference: Hashable {
        let table: String
        let parent: String
    }

    private var counts: [Reference: Int] = [:]

    var isEmpty: Bool { counts.isEmpty }

    /// No dangling references.
    init() {}

    init(in schema: DatabaseSchema) throws(BackupError) {
        try Self.forEach(in: schema) { row in
            counts[Reference(table: row.text(0), parent: row.text(2)), default: 0] += 1
        }
    }

    /// The total number.
    var count: Int { counts.values.reduce(0, +) }

    /// Passes each one as a row of `PRAGMA foreign_key_check`. SQLite cannot check a table that refers to columns without a
    /// unique index, which it accepts as long as no check is requested: skips such a table.
    static func forEach(
        in schema: DatabaseSchema, _ body: (DatabaseStatement) throws(BackupError) -> Void
    ) throws(BackupError) {
        for table in schema.names {
            let rows: DatabaseStatement
            do throws(BackupError) {
                rows = try schema.connection.statement("PRAGMA main.foreign_key_check(\(quotedIdentifier(table)))")
                guard try rows.step() else { continue }
            } catch {
                guard error.code == .invalidContent else { throw error }
                continue
            }
            repeat { try body(rows) } while try rows.step()
        }
    }

    /// A table that has more of them than both of the others.
    func firstTable(beyond one: DanglingReferences, _ other: DanglingReferences?) -> String? {
        counts.filter { $0.value > max(one.counts[$0.key] ?? 0, other?.counts[$0.key] ?? 0) }.map(\.key.table).min()
    }

    var warning: Message? {
        guard let table = counts.keys.map(\.table).min() else { return nil }
        let count = count
        return .plural(
            count,
            one: "\(count) record refers to one that is not there, as before: in the table \(MessageText.shortened(table))",
            other: "\(count) records refer to ones that are not there, as before: in the table \(MessageText.shortened(table))")
    }
}
