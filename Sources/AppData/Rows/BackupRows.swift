import BackupCore
import SQLite

/// The rows of a backup's own database. A restore of the backup copies them unchanged. An export lacks the columns that no field
/// names, SQLite's row numbers, and the exact form in which the app stored each value (a date with its time zone, NULL in place
/// of a default).
public struct BackupRows: Sendable {
    /// Tables of collections whose rows have, in that database, all columns that are required. Includes tables that only another
    /// of the app's formats names.
    private let tables: Set<SchemaName>
    /// Columns whose values a restore changes while it copies rows.
    public var rewritten: [RewrittenColumn] = []
    private let databasePath: String
    /// Tables whose rows a restore leaves alone or writes by other means.
    private let otherTables: Set<SchemaName>

    /// A column for which records have other values than the backup's rows: the new paths of their files, or the value of a field
    /// that a record lacks.
    public struct RewrittenColumn: Sendable {
        let table: SchemaName
        let column: String

        /// - Parameter pointer: of the definition
        public init(_ pointer: MediaPointer, _ definition: AppDefinition) {
            self.init(definition.collections[pointer.collection], pointer.field)
        }

        init(_ collection: CollectionDefinition, _ field: Int) {
            table = SchemaName(collection.table)
            column = collection.fields[field].column
        }
    }

    /// - Parameters:
    ///   - path: the database of one of the store's own backups.
    ///   - definition: the app's definition.
    ///   - format: the app's definition, in the format of the restored records.
    ///   - replacesKept: whether to copy the rows even if the app keeps some of its own in a restore; then none is kept.
    /// - Returns: `nil` if its rows must not be copied: its data has another format, or the app keeps rows in a restore.
    /// - Throws: `damagedContent` when it is damaged; errors of opening and reading.
    public init?(
        path: String, definition: AppDefinition, format: AppDefinition, replacesKept: Bool = false
    ) throws(BackupError) {
        guard !definition.coversWholeDatabase,
            replacesKept || definition.formats.flatMap(\.collections).allSatisfy({ $0.rules.keepOnReplaceIndex == nil })
        else { return nil }
        var tables: Set<SchemaName> = []
        var lacking: [RewrittenColumn] = []
        try Self.withConnection(to: path) { connection throws(BackupError) in
            if let problem = try DroppedDatabase.firstProblem(connection) {
                throw BackupError(.damagedContent, "the database is damaged: \(problem)", path: path)
            }
            let check = try DatabaseSchemaCheck(of: connection, definition)
            guard check.firstMissingObject() == nil,
                try definition.format(ofDatabase: connection).schemaVersion == format.schemaVersion
            else { return }
            // A replacement empties the tables of all formats.
            for table in check.replacedTables() where check.schema.canNameColumns(of: table) {
                tables.insert(SchemaName(table))
            }
            for collection in format.collections where collection.source == .table {
                if let missing = check.missingFields(of: collection) {
                    lacking += missing.map { RewrittenColumn(collection, $0) }
                } else {
                    tables.remove(SchemaName(collection.table))
                }
            }
        }
        let keyTables = definition.keyTables
        tables.subtract(keyTables)
        // Records fill the other tables of the format.
        let ofRecords = Set(format.collections.lazy.filter { $0.source == .table }.map { SchemaName($0.table) }).subtracting(
            tables)
        otherTables = keyTables.union(ofRecords)
        self.tables = tables
        rewritten = lacking
        databasePath = path
        // An app without any such table may still have keys.
        guard !tables.isEmpty || !definition.hasTables else { return nil }
    }

    /// The rows of a backup without tables that records have to fill: then the records need not be valid.
    /// - Parameters:
    ///   - path: the database of one of the store's own backups.
    ///   - definition: the app's definition.
    /// - Returns: the rows and the database; `nil` when records have to fill a table.
    /// - Throws: like the initializer.
    public static func ofAllRecords(
        path: String, definition: AppDefinition
    ) throws(BackupError) -> (rows: BackupRows, database: DroppedDatabase)? {
        let database = try DroppedDatabase(path: path, definition: definition, needsVersion: false)
        // Undoing a restore is more important than the rows that the app wants to keep.
        guard
            let rows = try BackupRows(path: path, definition: definition, format: database.definition, replacesKept: true),
            rows.hasAll(of: database.definition)
        else { return nil }
        return (rows, database)
    }

    /// Dangling references in the backup.
    func danglingReferences() throws(BackupError) -> DanglingReferences {
        var found: DanglingReferences?
        try Self.withConnection(to: databasePath) { connection throws(BackupError) in
            found = try DanglingReferences(in: DatabaseSchema.read(connection))
        }
        return found ?? DanglingReferences()
    }

    /// Whether the rows cover all tables of the format, so that records need not fill any.
    private func hasAll(of format: AppDefinition) -> Bool {
        format.collections.allSatisfy { $0.source != .table || has($0.table) }
    }

    func has(_ table: String) -> Bool { tables.contains(SchemaName(table)) }

    /// Copies the rows of all tables into the empty tables of another database, in its transaction.
    /// - Returns: warnings about data for which the database has no place.
    func copy(into connection: DatabaseConnection) throws(BackupError) -> [Message] {
        var left: [String] = []
        try Self.withConnection(to: databasePath) { source throws(BackupError) in
            let backup = try DatabaseSchema.read(source)
            let target = try DatabaseSchema.read(connection)
            for table in backup.names where has(table) {
                let copy = try RowCopy(table, from: backup, to: target)
                try copy.run()
                left += try copy.columnsLeft().map { "\(table).\($0)" }
            }
            let others = backup.names.filter { !has($0) && !otherTables.contains(SchemaName($0)) }
            // A virtual table fills its own shadow tables.
            let shadows = others.isEmpty ? [] : try backup.kinds().shadow
            for table in others where !shadows.contains(SchemaName(table)) {
                if try Self.isLeft(table, backup, target) { left.append(table) }
            }
        }
        guard !left.isEmpty else { return [] }
        let shown = MessageText.list(left, limit: Self.shownCount)
        return [
            "the backup's database also holds \(shown), which the app's database has no place or no rows for now: it is not restored. Get it with: backupfs restore --target"
        ]
    }

    private static let shownCount = 10

    /// Whether a table that no collection names has rows in the backup, but is missing or empty in the app's database.
    private static func isLeft(
        _ table: String, _ backup: DatabaseSchema, _ target: DatabaseSchema
    ) throws(BackupError) -> Bool {
        guard try backup.hasRows(table) else { return false }
        guard target.contains(table) else { return true }
        return try !target.hasRows(table)
    }

    /// Opens the backup's database.
    func withDatabase(_ body: (DatabaseSchema) throws(BackupError) -> Void) throws(BackupError) {
        try Self.withConnection(to: databasePath) { connection throws(BackupError) in
            try body(DatabaseSchema.read(connection))
        }
    }

    private static func withConnection(
        to path: String, _ body: (DatabaseConnection) throws(BackupError) -> Void
    ) throws(BackupError) {
        try DroppedDatabase.withConnection(to: path, acceptsUnknownCollations: true, body)
    }
}

extension AppDefinition {
    /// Tables whose rows a restore writes key by key, or leaves alone, and never copies.
    var keyTables: Set<SchemaName> {
        let objects = formats.flatMap { [$0.metadata.table, $0.settings?.table] }.compactMap(\.self)
        return Set((objects + secrets.map(\.table)).map(SchemaName.init))
    }
}

extension DroppedDatabase {
    /// Whether the database of a backup is undamaged, and lacks only columns of optional fields that the definition has gained
    /// since.
    public static func lacksOnlyFields(path: String, definition: AppDefinition) throws(BackupError) -> Bool {
        var lacksFields = false
        var lacksMore = true
        try withConnection(to: path, acceptsUnknownCollations: true) { connection throws(BackupError) in
            guard try firstProblem(connection) == nil else { return }
            let check = try DatabaseSchemaCheck(of: connection, definition)
            guard check.firstMissingObject() == nil else { return }
            for collection in try definition.format(ofDatabase: connection).collections
            where collection.source == .table {
                if !collection.isRequired, !check.schema.contains(collection.table) {
                    lacksFields = true
                    continue
                }
                guard let missing = check.missingFields(of: collection) else { return }
                if !missing.isEmpty { lacksFields = true }
            }
            lacksMore = false
        }
        return lacksFields && !lacksMore
    }
}

/// Copies one table's rows.
private struct RowCopy {
    private let table: String
    private let source: DatabaseSchema
    private let target: DatabaseSchema
    /// Columns that both have, each with its name in either.
    private let columns: [(source: String, target: String)]
    /// Columns that only the source has.
    private let others: [String]
    /// The name by which both can select the row number; `nil` where the number has no meaning.
    private let rowNumber: String?

    init(_ table: String, from source: DatabaseSchema, to target: DatabaseSchema) throws(BackupError) {
        self.table = table
        self.source = source
        self.target = target
        let sourceColumns = try DatabaseSchema.columns(of: table, source.connection)
        // Also those of a view: SQLite refuses to write to it.
        let targetColumns = try DatabaseSchema.columns(of: table, target.connection)
        let byName = Dictionary(
            targetColumns.lazy.filter(\.isStored).map { (SchemaName($0.name.text), $0.name.text) }
        ) { first, _ in first }
        columns = source.columns(of: table).sorted().compactMap { name in byName[SchemaName(name)].map { (name, $0) } }
        others = source.columns(of: table, besides: Set(byName.keys))
        let free = DatabaseSchema.rowNumberName(notAmong: sourceColumns + targetColumns)
        // A row's number is its key in a table that has such a key in both.
        if let free, try source.hasRowNumbers(table, free), try target.hasRowNumbers(table, free),
            Self.key(sourceColumns) == Self.key(targetColumns)
        {
            rowNumber = free
        } else {
            rowNumber = nil
        }
    }

    /// Position, name and type of each column of the primary key.
    private static func key(_ columns: [DatabaseSchema.Column]) -> Set<[SchemaName]> {
        Set(
            columns.lazy.filter { $0.keyPosition > 0 }.map { column in
                [String(column.keyPosition), column.name.text, column.declaredType].map(SchemaName.init)
            })
    }

    func run() throws(BackupError) {
        let names = (rowNumber.map { [$0] } ?? [])
        let selected = (names + columns.map { quotedIdentifier($0.source) }).joined(separator: ", ")
        let written = (names + columns.map { quotedIdentifier($0.target) }).joined(separator: ", ")
        let marks = Array(repeating: "?", count: names.count + columns.count).joined(separator: ", ")
        guard !marks.isEmpty else { return }
        let name = quotedIdentifier(table)
        let rows = try source.connection.statement("SELECT \(selected) FROM main.\(name)")
        let insertion = try target.connection.statement("INSERT INTO main.\(name) (\(written)) VALUES (\(marks))")
        let count = Int32(names.count + columns.count)
        while try rows.step() {
            for column in 0..<count { try insertion.bind(column + 1, value: column, of: rows) }
            try insertion.run()
        }
    }

    /// Columns that contain values and have no place in the other database.
    func columnsLeft() throws(BackupError) -> [String] { try source.columnsWithValues(among: others, of: table) }
}

extension DatabaseSchema {
    func hasRows(_ table: String) throws(BackupError) -> Bool {
        try connection.hasRow("SELECT 1 FROM main.\(quotedIdentifier(table)) LIMIT 1")
    }

    /// Which of the columns contain a value in any row. One pass finds all: most often there are none, and the table can be
    /// large. A column whose name is not UTF-8 cannot be queried: it counts as soon as there is a row.
    func columnsWithValues(among columns: [String], of table: String) throws(BackupError) -> [String] {
        let unnameable = columns.filter { !Self.canName($0) }
        if !unnameable.isEmpty {
            let found = try columnsWithValues(among: columns.filter(Self.canName), of: table)
            return try hasRows(table) ? (found + unnameable).sorted() : found
        }
        guard !columns.isEmpty else { return [] }
        let tests = columns.map { "max(\(quotedIdentifier($0)) IS NOT NULL)" }.joined(separator: ", ")
        let statement = try connection.statement("SELECT \(tests) FROM main.\(quotedIdentifier(table))")
        guard try statement.step() else { return [] }
        return columns.indices.filter { statement.integer(Int32($0)) == 1 }.map { columns[$0] }
    }

    /// Whether the row numbers can be selected by this name, which no column has.
    fileprivate func hasRowNumbers(_ table: String, _ name: String) throws(BackupError) -> Bool {
        do throws(BackupError) {
            _ = try connection.statement("SELECT \(name) FROM main.\(quotedIdentifier(table))")
            return true
        } catch {
            guard error.code == .invalidContent else { throw error }
            return false
        }
    }
}
