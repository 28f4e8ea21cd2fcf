import BackupCore
import GRDBSQLite

/// Whether an open database has what a definition needs.
struct DatabaseSchemaCheck {
    let connection: OpaquePointer?
    let definition: AppDefinition
    let path: String

    private var tables: DatabaseTables { DatabaseTables(connection: connection, path: path) }

    /// - Returns: "there is no table cars", "the table cars has no column name", or `nil`.
    func firstProblem() throws(BackupError) -> String? {
        var needed: [(table: String, columns: [String])] = [(definition.metadata.table, ["key", "value"])]
        if let settings = definition.settings { needed.append((settings.table, ["key", "value"])) }
        needed += definition.collections.map { ($0.table, $0.fields.map(\.column)) }
        for (table, columns) in needed {
            guard try tables.contains(table) else { return "there is no table \(table)" }
            let present = try tables.columns(of: table)
            for column in columns where !present.contains(column) { return "the table \(table) has no column \(column)" }
        }
        return nil
    }

    /// A replacement writes the columns that the definition names and no others: what else a table holds would be lost.
    /// - Throws: `notSupported` for a column with values that the definition does not name.
    func requireNothingUnnamed() throws(BackupError) {
        for collection in definition.collections {
            let named = Set(collection.fields.map(\.column))
            for column in try tables.columns(of: collection.table).subtracting(named).sorted() {
                let values = try DatabaseStatement(
                    connection,
                    "SELECT 1 FROM \(quotedIdentifier(collection.table)) WHERE \(quotedIdentifier(column)) IS NOT NULL LIMIT 1",
                    path: path)
                guard try values.step() else { continue }
                throw BackupError(
                    .notSupported,
                    "Import failed: the table \(collection.table) has the column \(column), which the app's definition does not name; "
                        + "a restore would lose its values",
                    path: path, remedy: "Add the column to the definition. Backups hold it: database.sqlite is always whole.")
            }
        }
    }
}
