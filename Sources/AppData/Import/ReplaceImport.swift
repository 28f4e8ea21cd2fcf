import BackupCore
import SQLite
import SystemIO

extension AppDatabase {
    /// Checks that a replacement would lose only the data that it replaces.
    /// - Parameter copiesRows: whether it copies the rows of a backup's database.
    /// - Throws: `notSupported` while a table contains data that is not in an export.
    public func requireReplaceable(copiesRows: Bool = false) throws(BackupError) {
        try read { connection throws(BackupError) in
            try DatabaseSchemaCheck(of: connection, definition).requireNothingUnexported(copiesRows: copiesRows)
        }
    }

    /// The warning about triggers that a restore does not run; `nil` when there are none.
    /// - Throws: `notSupported` for a trigger that it both must and must not run.
    public func triggerWarning() throws(BackupError) -> Message? {
        try read { connection throws(BackupError) in
            let effects = try DatabaseSchemaCheck(of: connection, definition).triggerEffects()
            try effects?.requireNoProblem(path: path)
            return effects?.warning
        }
    }

    /// Checks that rows can be written into it one by one.
    /// - Throws: `notSupported` when its indexes use a collation that only the app knows.
    public func requireKnownCollations() throws(BackupError) {
        guard definition.coversWholeDatabase else { return }
        let unknown = try read { connection throws(BackupError) in
            try DatabaseSchema.firstUnknownCollation(connection)
        }
        guard let unknown else { return }
        throw BackupError(
            .notSupported,
            "Import failed: the database orders texts in a way that only its app knows (\(MessageText.shortened(unknown)))",
            path: path,
            remedy: "Restore the backup's database.sqlite, or its archive.zip.")
    }

    /// Replaces all records, settings and stored metadata with those of `source`, in one transaction: afterwards the database
    /// contains exactly the new data, or, after any error, exactly the old. Keys that the definition does not name stay.
    ///
    /// - Parameters:
    ///   - expectedCounts: number of records per collection, as counted by an earlier validation.
    ///   - marker: written in the same transaction, so that `restoreMarker` shows after a crash whether it had committed.
    /// - Returns: number of the source's records per collection.
    /// - Throws: like `run`.
    @discardableResult
    public func replaceAll(
        from source: some RecordSource, expectedCounts: [Int]? = nil, marker: RestoreMarker? = nil
    ) throws(BackupError) -> [Int] {
        var instructions = ImportInstructions(strategy: .replace)
        instructions.expectedCounts = expectedCounts
        instructions.marker = marker
        return try run(instructions, from: source).collections.prefix(source.definition.tablesOnly.collections.count).map(
            \.readCount)
    }
}

/// The steps of a replacement, inside its transaction.
struct ReplaceImport {
    let connection: DatabaseConnection
    let definition: AppDefinition
    let instructions: ImportInstructions

    private var path: String { connection.path }

    func run(_ source: some RecordSource) throws(BackupError) -> ImportOutcome {
        try FaultInjection.reached("restore.transaction-begun")
        let check = try DatabaseSchemaCheck(of: connection, definition)
        try check.requireNothingUnexported(copiesRows: instructions.rows != nil)
        let format = source.definition
        try DatabaseSchemaCheck(schema: check.schema, definition: format).requireNoProblem()
        let formatOfPresent = try definition.format(ofDatabase: connection)
        let present = try countsOfPresent(formatOfPresent)
        let references = definition.coversWholeDatabase ? DanglingReferences() : try DanglingReferences(in: check.schema)
        // First: another connection reads the schema.
        var suspended: SuspendedTriggers?
        if let effects = try check.triggerEffects() {
            suspended = try SuspendedTriggers(effects, in: check.schema)
        }
        try instructions.marker?.leaveIfOthersHaveFinished(connection)
        if format.coversWholeDatabase {
            // Their effects are already in the file: they wrote rows of its tables.
            connection.disableTriggers()
        } else {
            for table in check.replacedTables() { try delete(from: table, format) }
        }
        let takesSettings = instructions.takesSettings(format)
        try FaultInjection.reached("restore.rows-deleted")
        let inserter = try RecordInserter(connection: connection, definition: format)
        var outcome = ImportOutcome(strategy: .replace, of: format)
        let isKeeping = instructions.rows == nil && format.collections.contains { $0.rules.keepOnReplaceIndex != nil }
        if isKeeping {
            let merge = MergeImport(
                connection: connection, format: format, instructions: instructions, isFileOlder: false)
            outcome = try merge.run(source, outcome, inserter)
        } else {
            inserter.takesSettings = takesSettings
            if let rows = instructions.rows {
                let objects = definition.formats.flatMap { [$0.metadata, takesSettings ? $0.settings : nil] }.compactMap(\.self)
                let notes = try connection.withoutChecks { () throws(BackupError) in
                    try inserter.keyValues.copy(from: rows, of: objects)
                    return try rows.copy(into: connection)
                }
                for note in notes { outcome.note(note) }
                try inserter.records(areCopiedFrom: rows)
            }
            try source.visit(with: inserter)
            for (index, count) in inserter.counts.enumerated() { outcome.collections[index].added = count }
        }
        // In the format of the safety backup only.
        for object in [formatOfPresent.metadata, takesSettings ? formatOfPresent.settings : nil] {
            guard let object else { continue }
            for note in try inserter.keyValues.removeKeysNotGiven(of: object) { outcome.note(note) }
        }
        try inserter.insertSchemaVersion()
        try suspended?.end()
        if !format.coversWholeDatabase {
            try check.schema.rebuildComputedIndexes(of: check.replacedTables())
        }
        try FaultInjection.reached("restore.rows-inserted")
        if isKeeping {
            try requireReferencesOfKept(format)
        } else {
            try verify(inserter.counts, format, wasVisited: inserter.wasVisited)
            // An app without a definition keeps what it had: SQLite allows dangling references unless the app enables the check.
            if !format.coversWholeDatabase, let note = try requireReferences(since: references, in: check.schema) {
                outcome.note(note)
            }
        }
        for (collection, count) in present {
            // Tables that the file does not contain stay unchanged.
            if format.coversWholeDatabase, !Self.wasVisited(collection, inserter, format) { continue }
            let own = outcome.collections.first { $0.name == collection.name }
            outcome.removed(count - (own.map { $0.kept + $0.updated + $0.skipped } ?? 0), of: collection)
        }
        try FaultInjection.reached("restore.before-commit")
        return outcome
    }

    /// The present number of records, in the collections of the data's format.
    private func countsOfPresent(_ format: AppDefinition) throws(BackupError) -> [(CollectionDefinition, Int)] {
        let reader = DatabaseRecordReader(connection: connection, definition: format)
        var counts: [(CollectionDefinition, Int)] = []
        for (index, collection) in format.collections.enumerated() { counts.append((collection, try reader.count(of: index))) }
        return counts
    }

    private static func wasVisited(
        _ collection: CollectionDefinition, _ inserter: RecordInserter, _ format: AppDefinition
    ) -> Bool {
        format.collectionIndex(named: collection.name).map { inserter.wasVisited[$0] } ?? false
    }

    /// Deletes all rows except those that the file's format of the data keeps.
    private func delete(from table: String, _ format: AppDefinition) throws(BackupError) {
        let keeping = format.collections.first { SchemaName($0.table) == SchemaName(table) && $0.rules.keepOnReplaceIndex != nil }
        let column =
            instructions.rows != nil
            ? nil : keeping.flatMap { collection in collection.rules.keepOnReplaceIndex.map { collection.fields[$0].column } }
        let condition = column.map { " WHERE \(quotedIdentifier($0)) IS NOT 1" } ?? ""
        try execute("DELETE FROM \(quotedIdentifier(table))\(condition)")
    }

    /// Kept rows may refer to rows that no longer exist.
    private func requireReferencesOfKept(_ format: AppDefinition) throws(BackupError) {
        for collection in format.collections {
            guard collection.rules.keepOnReplaceIndex != nil else { continue }
            for field in collection.fields {
                guard let reference = field.reference, !reference.mayDangle else { continue }
                let target = format.collections[reference.collection]
                let column = quotedIdentifier(field.column)
                let broken = try connection.statement(
                    "SELECT CAST(\(quotedIdentifier(collection.keyField.column)) AS TEXT) FROM \(quotedIdentifier(collection.table)) AS r "
                        + "WHERE r.\(column) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM \(quotedIdentifier(target.table)) AS t "
                        + "WHERE t.\(quotedIdentifier(target.keyField.column)) = r.\(column)) LIMIT 1")
                guard try broken.step() else { continue }
                throw BackupError(
                    .invalidContent,
                    """
                    Import failed: the \(collection.singular) \(MessageText.shortened(broken.text(0))), which is kept, refers to a \
                    \(target.singular) that is not in the file
                    """, path: path,
                    remedy: "Take the reference out of it in the app, and restore again.")
            }
        }
    }

    private func execute(_ sql: String) throws(BackupError) { try connection.run(sql) }

    private func verify(
        _ inserted: [Int], _ format: AppDefinition, wasVisited: [Bool]
    ) throws(BackupError) {
        let reader = DatabaseRecordReader(connection: connection, definition: format)
        for (index, collection) in format.collections.enumerated()
        where !format.coversWholeDatabase || wasVisited[index] {
            let present = try reader.count(of: index)
            let expected = instructions.expectedCounts?[index] ?? inserted[index]
            guard present == inserted[index], present == expected else {
                throw BackupError(
                    .invalidContent,
                    "Import failed: \(present) of \(expected) \(collection.plural) are in the database", path: path)
            }
        }
    }

    /// - Parameter before: the dangling references before any change. They are the app's own, and so are those of the backup: a
    ///   restore that was refused because of them could not be done or undone.
    /// - Returns: a warning about those that remain.
    /// - Throws: `invalidContent` when the restore has created any.
    private func requireReferences(
        since before: DanglingReferences, in schema: DatabaseSchema
    ) throws(BackupError) -> Message? {
        let now = try DanglingReferences(in: schema)
        guard !now.isEmpty else { return nil }
        let inBackup = try instructions.rows?.danglingReferences()
        if let table = now.firstTable(beyond: before, inBackup) {
            throw BackupError(
                .invalidContent, "Import failed: a record of the table \(table) refers to one that is not there", path: path)
        }
        return now.warning
    }
}
