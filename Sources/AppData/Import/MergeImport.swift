import BackupCore
import SQLite
import SystemIO

/// Adds records to existing ones, inside a transaction. The first pass matches the records of the file with those of the
/// database, and chooses keys for new ones. The second pass adds, updates or skips each record.
struct MergeImport {
    let connection: DatabaseConnection
    /// The file's format.
    let format: AppDefinition
    let instructions: ImportInstructions
    /// Whether the file has an older version than the data.
    let isFileOlder: Bool

    private var path: String { connection.path }

    /// - Parameters:
    ///   - outcome: the counts so far.
    ///   - inserter: for the same definition and connection.
    func run(
        _ source: some RecordSource, _ outcome: ImportOutcome, _ inserter: RecordInserter
    ) throws(BackupError) -> ImportOutcome {
        let scratch = try ScratchDatabase(at: instructions.scratchPath ?? "")
        var indices: [MergeIndex] = []
        for (number, collection) in format.collections.enumerated() {
            indices.append(try MergeIndex(collection, number: number, scratch: scratch))
        }
        try source.visit(with: MergeStaging(indices, inserter: inserter, mediaNames: instructions.mediaNames))
        let reader = DatabaseRecordReader(connection: connection, definition: format)
        var countsBefore = Array(repeating: 0, count: indices.count)
        for number in Self.order(format) {
            let index = indices[number]
            countsBefore[number] = try reader.count(of: number)
            try index.addExisting(connection)
            try index.match(indices, takesKey: instructions.strategy == .replace)
            try index.chooseKeys(connection)
        }
        try FaultInjection.reached("restore.records-matched")
        let brokenBefore = try brokenReferenceCount()
        let writer = try MergeWriter(
            outcome, indices, inserter, definition: format, instructions: instructions, isFileOlder: isFileOlder,
            connection: connection)
        try source.visit(with: writer)
        var outcome = writer.outcome
        if instructions.strategy == .replace {
            for (number, index) in indices.enumerated() { outcome.collections[number].kept = try index.unclaimedCount() }
        }
        try verify(outcome, countsBefore, reader)
        guard try brokenReferenceCount() <= brokenBefore else {
            throw BackupError(
                .invalidContent, "Import failed: a record would refer to one that is not there", path: path,
                remedy: "What the app's database asks of its references is not what the app's definition says of them.")
        }
        return outcome
    }

    /// The collections in an order in which each comes after those that its identity depends on.
    static func order(_ definition: AppDefinition) -> [Int] {
        var order: [Int] = []
        var seen: Set<Int> = []
        func add(_ number: Int) {
            guard seen.insert(number).inserted else { return }
            let collection = definition.collections[number]
            for target in collection.rules.referredCollections(collection.fields, keyIndex: collection.keyIndex) { add(target) }
            order.append(number)
        }
        for number in definition.collections.indices { add(number) }
        return order
    }

    private func verify(
        _ outcome: ImportOutcome, _ before: [Int], _ reader: DatabaseRecordReader
    ) throws(BackupError) {
        for (number, collection) in format.collections.enumerated() {
            let counted = outcome.collections[number]
            let expected = instructions.expectedCounts?[number] ?? counted.readCount
            let present = try reader.count(of: number)
            guard counted.readCount == expected, present == before[number] + counted.added else {
                throw BackupError(
                    .invalidContent,
                    """
                    Import failed: of \(expected) \(collection.plural) \(counted.readCount) were read, and \(present) instead of \
                    \(before[number] + counted.added) are in the database
                    """, path: path)
            }
        }
    }

    /// SQLite's count of dangling references that the tables declare; some may have existed before.
    private func brokenReferenceCount() throws(BackupError) -> Int {
        try DanglingReferences(in: DatabaseSchema.read(connection)).count
    }
}

/// The steps of a merge or a skip, inside its transaction.
struct AdditionImport {
    let connection: DatabaseConnection
    let definition: AppDefinition
    let instructions: ImportInstructions

    private var path: String { connection.path }

    func run(_ source: some RecordSource) throws(BackupError) -> ImportOutcome {
        try FaultInjection.reached("restore.transaction-begun")
        let format = source.definition
        let check = try DatabaseSchemaCheck(of: connection, definition)
        try DatabaseSchemaCheck(schema: check.schema, definition: format).requireNoProblem()
        let isOther = try hasOtherFormat(format)
        // As in a replacement: the added rows are exactly the file's, and an undo, which runs no triggers, restores everything.
        var suspended: SuspendedTriggers?
        if let effects = try check.triggerEffects() { suspended = try SuspendedTriggers(effects, in: check.schema) }
        try instructions.marker?.leaveIfOthersHaveFinished(connection)
        let present = try definition.format(ofDatabase: connection)
        let inserter = try RecordInserter(connection: connection, definition: format)
        let merge = MergeImport(
            connection: connection, format: format, instructions: instructions,
            // Of a single record, what its export left out was null.
            isFileOlder: !instructions.isPart && instructions.fileVersion.map { $0 < present.schemaVersion } ?? false)
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
        let present = try definition.format(ofDatabase: connection)
        guard present.formatVersions != format.formatVersions else { return false }
        for (index, collection) in present.collections.enumerated() {
            let reader = DatabaseRecordReader(connection: connection, definition: present)
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
