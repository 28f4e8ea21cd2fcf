import BackupCore
import GRDB
import GRDBSQLite
import SystemIO

extension AppDatabase {
    /// Whether a replacement would lose nothing but what it replaces.
    /// - Throws: `notSupported` when a table has values in a column that the definition does not name.
    public func requireReplaceable() throws(BackupError) {
        try read { connection throws(BackupError) in
            try DatabaseSchemaCheck(connection: connection, definition: definition, path: path).requireNothingUnnamed()
        }
    }

    /// Replaces all records, settings and stored metadata by those of `source`, in one transaction: afterwards the database
    /// holds exactly the new data, or, after any error, exactly the old. Keys that the definition does not name stay.
    ///
    /// - Parameters:
    ///   - expectedCounts: number of records for each collection, as a validation before has counted them.
    ///   - marker: left behind in the same transaction, so that `restoreMarker` tells after a crash whether it had committed.
    /// - Returns: number of records inserted for each collection.
    /// - Throws: `busy` when the app keeps its database locked; `invalidContent` for records that the definition does not allow,
    ///   or that are not as many as expected. Only an error at the fault point `restore.committed` comes after the commit.
    @discardableResult
    public func replaceAll(
        from source: some RecordSource, expectedCounts: [Int]? = nil, marker: String? = nil
    ) throws(BackupError) -> [Int] {
        let counts = try write { database in
            try DatabaseReplacement(connection: database.sqliteConnection, definition: definition, path: path)
                .run(source, expectedCounts: expectedCounts, marker: marker)
        }
        try FaultInjection.reached("restore.committed")
        return counts
    }
}

/// The steps of a replacement, inside its transaction.
struct DatabaseReplacement {
    let connection: OpaquePointer?
    let definition: AppDefinition
    let path: String

    func run(_ source: some RecordSource, expectedCounts: [Int]?, marker: String?) throws(BackupError) -> [Int] {
        try FaultInjection.reached("restore.transaction-begun")
        let check = DatabaseSchemaCheck(connection: connection, definition: definition, path: path)
        try check.requireNothingUnnamed()
        let format = source.definition
        if let problem = try DatabaseSchemaCheck(connection: connection, definition: format, path: path).firstProblem() {
            throw BackupError(.notSupported, "Import failed: \(problem) in the app's database", path: path)
        }
        if let marker { try RestoreMarker.leave(marker, connection, path: path) }
        if format.coversWholeDatabase {
            // Their work is in the file: what they wrote are rows of its tables.
            DatabaseTriggers.disable(connection)
        } else {
            for table in try check.replacedTables() { try execute("DELETE FROM \(quotedIdentifier(table))") }
        }
        try deleteStoredKeys(of: definition.metadata)
        if let settings = definition.settings { try deleteStoredKeys(of: settings) }
        try FaultInjection.reached("restore.rows-deleted")
        let inserter = try RecordInserter(connection: connection, definition: format, path: path)
        try source.visit(with: inserter)
        try inserter.insertSchemaVersion()
        try FaultInjection.reached("restore.rows-inserted")
        try verify(inserter.counts, format, wasVisited: inserter.wasVisited, expectedCounts: expectedCounts)
        try FaultInjection.reached("restore.before-commit")
        return inserter.counts
    }

    /// Keys that the definition does not name are in no export, so nothing could bring them back: they stay.
    private func deleteStoredKeys(of object: ObjectDefinition) throws(BackupError) {
        guard let table = object.table else { return }
        for field in object.fields where field.source == .stored && field.isRestored {
            let statement = try DatabaseStatement(
                connection, "DELETE FROM \(quotedIdentifier(table)) WHERE \"key\" = ?1", path: path)
            try statement.run(with: field.column)
        }
    }

    private func execute(_ sql: String) throws(BackupError) { try DatabaseStatement(connection, sql, path: path).run() }

    private func verify(
        _ inserted: [Int], _ format: AppDefinition, wasVisited: [Bool], expectedCounts: [Int]?
    ) throws(BackupError) {
        let reader = DatabaseRecordReader(connection: connection, definition: format, path: path)
        for (index, collection) in format.collections.enumerated()
        where collection.source == .table && (!format.coversWholeDatabase || wasVisited[index]) {
            let present = try reader.count(of: index)
            let expected = expectedCounts?[index] ?? inserted[index]
            guard present == inserted[index], present == expected else {
                throw BackupError(
                    .invalidContent,
                    "Import failed: \(present) of \(expected) \(collection.plural) are in the database", path: path)
            }
        }
        // What nobody has described is as it was: SQLite lets references be broken unless the app asks for more.
        if format.coversWholeDatabase { return }
        let broken = try DatabaseStatement(connection, "PRAGMA foreign_key_check", path: path)
        if try broken.step() {
            throw BackupError(
                .invalidContent, "Import failed: a record of the table \(broken.text(0)) refers to one that is not there",
                path: path)
        }
    }
}
