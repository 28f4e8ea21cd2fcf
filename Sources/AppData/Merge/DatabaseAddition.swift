import BackupCore
import SystemIO

/// The steps of a merge or a skip, inside its transaction.
struct DatabaseAddition {
    let connection: OpaquePointer?
    let definition: AppDefinition
    let path: String
    let instructions: ImportInstructions

    func run(_ source: some RecordSource) throws(BackupError) -> ImportOutcome {
        try FaultInjection.reached("restore.transaction-begun")
        let format = source.definition
        try DatabaseSchemaCheck(connection: connection, definition: format, path: path).requireNoProblem()
        let isOther = try hasOtherFormat(format)
        // As in a replacement: the added rows are exactly the file's, and an undo, which runs no triggers, restores everything.
        var suspended: SuspendedTriggers?
        if let effects = try DatabaseSchemaCheck(connection: connection, definition: definition, path: path).triggerEffects() {
            suspended = try SuspendedTriggers(effects, connection: connection, path: path)
        }
        try instructions.marker?.leaveIfOthersHaveFinished(connection, path: path)
        let present = try definition.format(ofDatabase: connection, path: path)
        let inserter = try RecordInserter(connection: connection, definition: format, path: path)
        let merge = DatabaseMerge(
            connection: connection, format: format, path: path, instructions: instructions,
            isFileOlder: instructions.fileVersion.map { $0 < present.schemaVersion } ?? false)
        let outcome = try merge.run(
            source, ImportOutcome(strategy: instructions.strategy, of: format), inserter)
        // A database without records accepts any format, and its data then goes out in that format.
        if isOther { try inserter.insertSchemaVersion() }
        try suspended?.end()
        try FaultInjection.reached("restore.rows-inserted")
        try FaultInjection.reached("restore.before-commit")
        return outcome
    }

    /// - Returns: whether the format differs from that of the data, which then has no records.
    /// - Throws: `notSupported` when the format differs, and there are records.
    func hasOtherFormat(_ format: AppDefinition) throws(BackupError) -> Bool {
        guard !definition.coversWholeDatabase else {
            throw BackupError(
                .notSupported, "Import failed: records cannot be added to a database without an app definition", path: path,
                remedy: "Use the strategy replace, or describe the app's records in its definition.")
        }
        let present = try definition.format(ofDatabase: connection, path: path)
        guard present.formatVersions != format.formatVersions else { return false }
        for (index, collection) in present.collections.enumerated() {
            let reader = DatabaseRecordReader(connection: connection, definition: present, path: path)
            guard try reader.count(of: index) > 0 else { continue }
            throw BackupError(
                .notSupported,
                """
                Import failed: the file is of schema version \(format.schemaVersion), and the data of version \(present.schemaVersion), \
                whose \(collection.plural) have another form
                """, path: path,
                remedy: """
                    Use the strategy replace, or a file of a version from \(present.formatVersions.lowerBound) to \
                    \(present.formatVersions.upperBound).
                    """)
        }
        return true
    }
}
