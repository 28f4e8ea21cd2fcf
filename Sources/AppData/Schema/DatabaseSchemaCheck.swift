import BackupCore
import SQLite

/// Checks whether an open database has what a definition needs.
struct DatabaseSchemaCheck {
    let schema: DatabaseSchema
    let definition: AppDefinition

    var connection: DatabaseConnection { schema.connection }
    var path: String { schema.path }

    /// - Throws: `notSupported` for an app's database that lacks what a file's records need.
    func requireNoProblem() throws(BackupError) {
        guard let problem = firstProblem() else { return }
        throw BackupError(.notSupported, "Import failed: \(problem) in the app's database", path: path)
    }

    /// - Returns: "there is no table cars", "the table cars has no column name", or `nil`.
    func firstProblem() -> Message? {
        firstProblem(objects + definition.collections.filter { $0.source == .table }.map(Self.needs))
    }

    /// The fields of a collection whose columns are missing from its table, as in a database from before the definition named
    /// them.
    /// - Returns: `nil` when the table is missing, or the column of a required field.
    func missingFields(of collection: CollectionDefinition) -> [Int]? {
        guard schema.contains(collection.table) else { return nil }
        var missing: [Int] = []
        for (index, field) in collection.fields.enumerated() {
            let columns = field.keyColumns.isEmpty ? [field.column] : field.keyColumns
            if columns.allSatisfy({ schema.hasColumn($0, in: collection.table) }) { continue }
            guard field.mayBeMissing, field.keyColumns.isEmpty, index != collection.keyIndex else { return nil }
            missing.append(index)
        }
        return missing
    }

    private static func needs(_ collection: CollectionDefinition) -> (table: String, columns: [String]) {
        (collection.table, collection.fields.flatMap { $0.keyColumns.isEmpty ? [$0.column] : $0.keyColumns })
    }

    /// The same for the tables of metadata and settings only.
    func firstMissingObject() -> Message? { firstProblem(objects) }

    private var objects: [(table: String, columns: [String])] {
        [definition.metadata, definition.settings].compactMap { $0?.table.map { ($0, ["key", "value"]) } }
    }

    private func firstProblem(_ needed: [(table: String, columns: [String])]) -> Message? {
        for (table, columns) in needed {
            guard schema.contains(table) else { return "there is no table \(table)" }
            for column in columns where !schema.hasColumn(column, in: table) {
                return "the table \(table) has no column \(column)"
            }
        }
        return nil
    }

    /// A replacement writes only the columns that the file's format names, and empties the tables of all formats: data that the
    /// format does not name would be lost. If the rows of a backup are copied, its own columns replace the present ones, and an
    /// undo copies rows, too.
    /// - Throws: `notSupported` while there is such data.
    func requireNothingUnexported(copiesRows: Bool) throws(BackupError) {
        guard let found = try unexportedData() else { return }
        if let lost = copiesRows ? found.withoutRows : found { throw lost.refusal(path: path) }
    }

    /// The effects of triggers while a restore writes to the app's tables. A restore of a whole database runs none.
    func triggerEffects() throws(BackupError) -> TriggerEffects? {
        guard !definition.coversWholeDatabase else { return nil }
        var tables = replacedTables()
        for object in definition.formats.flatMap({ [$0.metadata, $0.settings] }) {
            if let table = object?.table, !tables.contains(where: { SchemaName($0) == SchemaName(table) }) {
                tables.append(table)
            }
        }
        return try TriggerEffects(of: tables, in: schema)
    }

    /// The tables whose rows a replacement removes: the existing tables of all formats.
    func replacedTables() -> [String] {
        var tables: [String] = []
        for collection in definition.formats.flatMap(\.collections)
        where collection.source == .table && !tables.contains(where: { SchemaName($0) == SchemaName(collection.table) }) {
            if schema.contains(collection.table) { tables.append(collection.table) }
        }
        return tables
    }
}

extension DatabaseSchemaCheck {
    init(of connection: DatabaseConnection, _ definition: AppDefinition) throws(BackupError) {
        self.init(schema: try DatabaseSchema.read(connection), definition: definition)
    }
}
