import BackupCore
import SQLite

/// The schema of an open database at one moment: this is the only reader of SQLite's schema table and of the pragmas that
/// describe tables and indexes.
///
/// Nothing of the database is run: no view is prepared, and no virtual table is connected. SQLite lists tables, shadow tables and
/// virtual tables alike. Which of them count depends on the purpose, and each choice has a name here: `hasPages`, `isOfApp`,
/// `isExportedWhole`.
struct DatabaseSchema {
    struct Column {
        let name: SchemaText
        let declaredType: String
        let isRequired: Bool
        /// The SQL of its default, if it has one.
        let defaultExpression: String?
        /// Position in the primary key, from 1; 0 when it is not in it.
        let keyPosition: Int
        /// False for a generated column: it is derived from the stored ones, and reading it would run foreign code.
        let isStored: Bool
    }

    struct Table {
        fileprivate static let sequenceName = "sqlite_sequence"

        let name: SchemaText
        /// A virtual table has no pages of its own, and neither has a view.
        let hasPages: Bool
        let isView: Bool
        /// Empty for a table without pages.
        fileprivate(set) var columns: [Column] = []

        var storedColumns: [String] { columns.lazy.filter(\.isStored).map(\.name.text) }

        private var isOfSQLite: Bool {
            SchemaName(String(decoding: name.text.utf8.prefix(7), as: UTF8.self)) == SchemaName("sqlite_")
        }

        /// Whether it has data of the app: not one of SQLite's own tables, and not one of this program or of its migrations.
        var isOfApp: Bool {
            hasPages && !isOfSQLite && name.text != RestoreMarker.table && name.text != DatabaseSchema.migrationsTable
        }

        /// Whether an export of a whole database contains it: also the record of migrations, and the last row numbers, which
        /// SQLite itself writes. Not its statistics, which are derived.
        var isExportedWhole: Bool {
            hasPages && name.text != RestoreMarker.table && (!isOfSQLite || name.text == Self.sequenceName)
        }

        /// SQLite writes this one when rows are inserted into others.
        var isSequence: Bool { name.text == Self.sequenceName }
    }

    struct Trigger {
        let name: SchemaText
        let table: String
        let sql: String
    }

    struct Index {
        let name: String
        /// Whether it is the index of a primary key.
        let isOfKey: Bool
        let isPartial: Bool
    }

    /// SQLite's names for the row number, unless a column has the name.
    static let rowNumberNames = ["rowid", "_rowid_", "oid"]
    /// Where the migrations of an embedded database are recorded.
    static let migrationsTable = "grdb_migrations"

    let connection: DatabaseConnection
    var path: String { connection.path }
    /// All tables, sorted by name as the database sorts.
    let tables: [Table]
    /// In the order in which SQLite runs them.
    let triggers: [Trigger]
    /// By name, for names that are UTF-8: tables and views.
    private let objects: [SchemaName: Table]

    static func read(_ connection: DatabaseConnection) throws(BackupError) -> DatabaseSchema {
        let list = try connection.statement(
            "SELECT name, type = 'view', rootpage FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        var objects: [Table] = []
        while try list.step() {
            objects.append(Table(name: SchemaText(list, 0), hasPages: list.integer(2) > 0, isView: list.integer(1) == 1))
        }
        for index in objects.indices where objects[index].hasPages {
            objects[index].columns = try columns(of: objects[index].name.text, connection)
        }
        let statement = try connection.statement(
            "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")
        var triggers: [Trigger] = []
        while try statement.step() {
            triggers.append(Trigger(name: SchemaText(statement, 0), table: statement.text(1), sql: statement.text(2)))
        }
        return DatabaseSchema(
            connection: connection, tables: objects.filter { !$0.isView }, triggers: triggers,
            objects: Dictionary(objects.lazy.filter(\.name.isValid).map { (SchemaName($0.name.text), $0) }) { first, _ in first })
    }

    /// The columns of a table or view; empty when there is none of this name.
    static func columns(of table: String, _ connection: DatabaseConnection) throws(BackupError) -> [Column] {
        let statement = try connection.statement("PRAGMA main.table_xinfo(\(quotedIdentifier(table)))")
        var columns: [Column] = []
        while try statement.step() {
            let expression = statement.text(4)
            columns.append(
                Column(
                    name: SchemaText(statement, 1), declaredType: statement.text(2), isRequired: statement.integer(3) != 0,
                    defaultExpression: expression.isEmpty ? nil : expression, keyPosition: Int(statement.integer(5)),
                    isStored: statement.integer(6) == 0))
        }
        return columns
    }

    /// The names of the tables with data of the app.
    var names: [String] { tables.lazy.filter(\.isOfApp).map(\.name.text) }

    /// A table or view by its name as SQLite compares it.
    func object(named name: String) -> Table? { objects[SchemaName(name)] }

    /// A table with pages by exactly this name: definitions and files spell names as the database does.
    func table(exactly name: String) -> Table? {
        guard let table = object(named: name), table.hasPages, table.name.text.utf8.elementsEqual(name.utf8) else { return nil }
        return table
    }

    func contains(_ name: String) -> Bool { table(exactly: name) != nil }

    /// The names of the stored columns. Not a set of texts: Swift may consider two of them equal (`SchemaName`).
    func columns(of table: String) -> [String] { object(named: table)?.storedColumns ?? [] }

    /// Whether SQL can name a column by its name as read: not if it is not UTF-8, and SQLite may treat an unknown quoted name as
    /// a text.
    static func canName(_ column: String) -> Bool { !column.unicodeScalars.contains("\u{FFFD}") }

    func canNameColumns(of table: String) -> Bool { columns(of: table).allSatisfy(Self.canName) }

    /// Whether a table has a column by exactly this name, or SQLite gives its row number the name.
    func hasColumn(_ column: String, in table: String) -> Bool {
        columns(of: table).contains { $0.utf8.elementsEqual(column.utf8) } || Self.rowNumberNames.contains(column.lowercased())
    }

    /// The stored columns of a table that are not among these, sorted.
    func columns(of table: String, besides named: Set<SchemaName>) -> [String] {
        columns(of: table).filter { !named.contains(SchemaName($0)) }.sorted()
    }

    /// - Parameter columns: all columns of a table, including generated ones.
    /// - Returns: a name for the row number that no column has.
    static func rowNumberName(notAmong columns: [Column]) -> String? {
        let used = Set(columns.map { SchemaName($0.name.text) })
        return rowNumberNames.first { !used.contains(SchemaName($0)) }
    }
}

/// What SQLite must look up for each table: read only where it is needed.
extension DatabaseSchema {
    /// The tables without a row number, and the shadow tables, which a virtual table fills. For this list, SQLite prepares all
    /// views and connects all virtual tables.
    func kinds() throws(BackupError) -> (withoutRowID: Set<SchemaName>, shadow: Set<SchemaName>) {
        let statement = try connection.statement("PRAGMA main.table_list")
        var withoutRowID: Set<SchemaName> = []
        var shadow: Set<SchemaName> = []
        while try statement.step() {
            if statement.integer(4) != 0 { withoutRowID.insert(SchemaName(statement.text(1))) }
            if statement.text(2) == "shadow" { shadow.insert(SchemaName(statement.text(1))) }
        }
        return (withoutRowID, shadow)
    }

    func indexes(of table: String) throws(BackupError) -> [Index] {
        let statement = try connection.statement("PRAGMA main.index_list(\(quotedIdentifier(table)))")
        var indexes: [Index] = []
        while try statement.step() {
            indexes.append(
                Index(name: statement.text(1), isOfKey: statement.text(3) == "pk", isPartial: statement.integer(4) != 0))
        }
        return indexes
    }

    /// The column that is the row number itself: the only one of the key, of the type INTEGER, unless SQLite keeps an index for
    /// it.
    /// - Returns: `nil` also for a table without row numbers.
    func rowNumberColumn(of table: Table) throws(BackupError) -> Column? {
        let key = table.columns.filter { $0.keyPosition > 0 }
        guard key.count == 1, key[0].isStored, key[0].declaredType.uppercased() == "INTEGER",
            try !indexes(of: table.name.text).contains(where: \.isOfKey)
        else { return nil }
        return key[0]
    }

    /// Whether an index has computed entries: it is partial, or on an expression.
    func isComputed(_ index: Index) throws(BackupError) -> Bool {
        if index.isPartial { return true }
        let columns = try connection.statement("PRAGMA main.index_xinfo(\(quotedIdentifier(index.name)))")
        // -2 is the column number of an expression.
        while try columns.step() { if columns.integer(1) == -2 { return true } }
        return false
    }

    /// A collation that the database's indexes use and SQLite does not know.
    static func firstUnknownCollation(_ connection: DatabaseConnection) throws(BackupError) -> String? {
        let statement = try connection.statement(
            """
            SELECT x.coll FROM main.sqlite_schema AS s JOIN pragma_index_xinfo(s.name) AS x
            WHERE s.type = 'index' AND x.coll IS NOT NULL AND upper(x.coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM') LIMIT 1
            """)
        return try statement.step() ? statement.text(0) : nil
    }
}

/// A name of the schema as the database has it, which need not be UTF-8.
struct SchemaText {
    /// With a replacement character for each byte sequence that is not UTF-8.
    let text: String
    private let invalidBytes: [UInt8]?

    init(_ statement: DatabaseStatement, _ column: Int32) {
        let bytes = statement.bytes(column, isText: true)
        text = String(decoding: bytes, as: UTF8.self)
        invalidBytes = String(validating: bytes, as: UTF8.self) == nil ? Array(bytes) : nil
    }

    var isValid: Bool { invalidBytes == nil }

    /// The name, for use in another query.
    /// - Throws: `notSupported` for a name that is not UTF-8: the query would use another name, which SQLite may even treat as a
    ///   text.
    func valid(_ kind: Message, path: String) throws(BackupError) -> String {
        guard let invalidBytes else { return text }
        let shown = invalidBytes.withUnsafeBytes { MessageText.shortened($0) }
        throw BackupError(
            .notSupported, "\(kind) has a name that is not UTF-8: \(shown)", path: path,
            remedy: "Give it another name, with ALTER TABLE.")
    }
}

/// The name of a table or column as SQLite compares it: by its bytes, ignoring the case of ASCII letters. Swift considers texts
/// equal that differ only in Unicode normalisation.
struct SchemaName: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ name: String) { bytes = name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 } }
}
