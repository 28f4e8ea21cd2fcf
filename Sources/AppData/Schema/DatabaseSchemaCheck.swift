import BackupCore
import GRDBSQLite

/// Checks whether an open database has what a definition needs.
struct DatabaseSchemaCheck {
    let connection: OpaquePointer?
    let definition: AppDefinition
    let path: String

    var tables: DatabaseTables { DatabaseTables(connection: connection, path: path) }

    /// - Throws: `notSupported` for an app's database that lacks what a file's records need.
    func requireNoProblem() throws(BackupError) {
        guard let problem = try firstProblem() else { return }
        throw BackupError(.notSupported, "Import failed: \(problem) in the app's database", path: path)
    }

    /// - Returns: "there is no table cars", "the table cars has no column name", or `nil`.
    func firstProblem() throws(BackupError) -> Message? {
        try firstProblem(
            objects + definition.collections.filter { $0.source == .table }.map(Self.needs))
    }

    /// The fields of a collection whose columns are missing from its table, as in a database from before the definition named
    /// them.
    /// - Returns: `nil` when the table is missing, or the column of a required field.
    func missingFields(of collection: CollectionDefinition) throws(BackupError) -> [Int]? {
        guard try tables.contains(collection.table) else { return nil }
        let present = try tables.columns(of: collection.table)
        var missing: [Int] = []
        for (index, field) in collection.fields.enumerated() {
            let columns = field.keyColumns.isEmpty ? [field.column] : field.keyColumns
            if columns.allSatisfy({ Self.has($0, present) }) { continue }
            guard field.mayBeMissing, field.keyColumns.isEmpty, index != collection.keyIndex else { return nil }
            missing.append(index)
        }
        return missing
    }

    private static func has(_ column: String, _ present: [String]) -> Bool {
        present.contains { $0.utf8.elementsEqual(column.utf8) } || IntrospectedTable.rowNumberNames.contains(column.lowercased())
    }

    private static func needs(_ collection: CollectionDefinition) -> (table: String, columns: [String]) {
        (collection.table, collection.fields.flatMap { $0.keyColumns.isEmpty ? [$0.column] : $0.keyColumns })
    }

    /// The same for the tables of metadata and settings only.
    func firstMissingObject() throws(BackupError) -> Message? { try firstProblem(objects) }

    private var objects: [(table: String, columns: [String])] {
        [definition.metadata, definition.settings].compactMap { $0?.table.map { ($0, ["key", "value"]) } }
    }

    private func firstProblem(_ needed: [(table: String, columns: [String])]) throws(BackupError) -> Message? {
        for (table, columns) in needed {
            guard try tables.contains(table) else { return "there is no table \(table)" }
            let present = try tables.columns(of: table)
            for column in columns where !Self.has(column, present) {
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
        var tables = try replacedTables()
        for object in definition.formats.flatMap({ [$0.metadata, $0.settings] }) {
            if let table = object?.table, !tables.contains(where: { SchemaName($0) == SchemaName(table) }) {
                tables.append(table)
            }
        }
        return try TriggerEffects(of: tables, in: connection, path: path)
    }

    /// The tables whose rows a replacement removes: the existing tables of all formats.
    func replacedTables() throws(BackupError) -> [String] {
        var tables: [String] = []
        for collection in definition.formats.flatMap(\.collections)
        where collection.source == .table && !tables.contains(where: { SchemaName($0) == SchemaName(collection.table) }) {
            if try self.tables.contains(collection.table) { tables.append(collection.table) }
        }
        return tables
    }
}
