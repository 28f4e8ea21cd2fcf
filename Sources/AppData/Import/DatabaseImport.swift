import BackupCore
import SystemIO

extension AppDatabase {
    /// Writes the records of `source` into the database, in one transaction: completely, or, after any error, not at all.
    ///
    /// - Parameters:
    ///   - whenLocked: called first inside the transaction, when no other program can write.
    ///   - beforeCommit: called last inside the transaction: an error rolls everything back.
    /// - Throws: `databaseInUse` when the app keeps its database locked; `notSupported` when the strategy cannot be used with
    ///   this data and file; `invalidContent` for records that the definition does not allow, or an unexpected number of records.
    ///   Only an error at the fault point `restore.committed` comes after the commit.
    @discardableResult
    public func run(
        _ instructions: ImportInstructions, from source: some RecordSource,
        whenLocked: () throws(BackupError) -> Void = { () throws(BackupError) in },
        beforeCommit: (ImportOutcome) throws(BackupError) -> Void = { (_) throws(BackupError) in }
    ) throws(BackupError) -> ImportOutcome {
        guard definition.describesMedia else {
            return try run(
                instructions, from: source, definition: definition, whenLocked: whenLocked, beforeCommit: beforeCommit)
        }
        // A file's records about media files are not part of the database.
        let records = TableRecords(source)
        var instructions = instructions
        instructions.expectedCounts = instructions.expectedCounts.map(records.counts)
        return try run(
            instructions, from: records, definition: definition.tablesOnly, whenLocked: whenLocked, beforeCommit: beforeCommit)
    }

    private func run(
        _ instructions: ImportInstructions, from source: some RecordSource, definition: AppDefinition,
        whenLocked: () throws(BackupError) -> Void, beforeCommit: (ImportOutcome) throws(BackupError) -> Void
    ) throws(BackupError) -> ImportOutcome {
        let outcome = try write { (connection) throws(BackupError) in
            try whenLocked()
            let outcome: ImportOutcome
            switch instructions.strategy {
            case .replace:
                outcome = try ReplaceImport(
                    connection: connection, definition: definition, instructions: instructions
                ).run(source)
            case .merge, .skip:
                outcome = try AdditionImport(
                    connection: connection, definition: definition, instructions: instructions
                ).run(source)
            }
            try beforeCommit(outcome)
            return outcome
        }
        try FaultInjection.reached("restore.committed")
        return outcome
    }

    /// Leaves all records unchanged, if they already equal the file's: only writes the marker.
    /// - Parameters:
    ///   - counts: number of records per collection of the format.
    ///   - whenLocked, beforeCommit: as for `run`.
    /// - Throws: `busy` when the app has changed its records meanwhile.
    public func keepRecords(
        _ counts: [Int], of format: AppDefinition, marker: RestoreMarker?,
        whenLocked: () throws(BackupError) -> Void, beforeCommit: () throws(BackupError) -> Void
    ) throws(BackupError) {
        try write { (connection) throws(BackupError) in
            try whenLocked()
            let reader = DatabaseRecordReader(connection: connection, definition: format)
            for (index, collection) in format.collections.enumerated() where collection.source == .table {
                guard try reader.count(of: index) != counts[index] else { continue }
                throw BackupError(
                    .busy, "the app changed its database while the restore was about to replace it", path: path,
                    remedy: "Close the app, or wait, and try again. Nothing was changed.")
            }
            try marker?.leaveIfOthersHaveFinished(connection)
            try FaultInjection.reached("restore.before-commit")
            try beforeCommit()
        }
        try FaultInjection.reached("restore.committed")
    }

    /// Whether records of a format can be added to the existing ones.
    /// - Throws: `notSupported` when these have another format.
    public func requireSameFormat(as format: AppDefinition) throws(BackupError) {
        try read { connection throws(BackupError) in
            _ = try AdditionImport(
                connection: connection, definition: definition.tablesOnly,
                instructions: ImportInstructions(strategy: .merge)
            ).hasOtherFormat(format.tablesOnly)
        }
    }
}

/// How to perform an import.
public struct ImportInstructions {
    public var strategy: ImportStrategy
    /// Number of records per collection of the file, as counted by an earlier validation.
    public var expectedCounts: [Int]?
    /// The version of the file, if known: a file of an older version may lack members that it could not know.
    public var fileVersion: Int?
    /// Written in the transaction, so that `AppDatabase.restoreMarker` shows after a crash whether it had committed.
    public var marker: RestoreMarker?
    /// Where to create a file for keys and identities, whose number grows with the records. Removed afterwards. If `nil`, SQLite
    /// chooses a place.
    public var scratchPath: String?
    /// New names of media files, for the records that name these.
    public var mediaNames: MediaNames?

    /// The rows of the restored backup, which a replacement copies unchanged; `nil` when the file is not from one of the store's
    /// own backups.
    public var rows: BackupRows?

    /// Whether settings are restored; `nil` to follow the definition.
    public var restoresSettings: Bool?

    /// Whether the file has only some records, so that others to which they refer are in the database.
    public var isPart = false

    /// Whether the settings of a file replace the existing ones.
    func takesSettings(_ definition: AppDefinition) -> Bool {
        guard let settings = definition.settings else { return false }
        switch strategy {
        case .replace: return restoresSettings ?? (settings.onReplace == .update)
        case .merge: return restoresSettings ?? (settings.onMerge == .update)
        case .skip: return restoresSettings ?? false
        }
    }

    public init(strategy: ImportStrategy) { self.strategy = strategy }
}

/// The records of a source that go into tables: omits records about media files, and numbers the collections as in
/// `AppDefinition.tablesOnly`.
struct TableRecords<Source: RecordSource>: RecordSource {
    let definition: AppDefinition
    private let source: Source
    /// By the index in the source; `nil` for omitted ones.
    private let numbers: [Int?]

    init(_ source: Source) {
        self.source = source
        definition = source.definition.tablesOnly
        numbers = source.definition.tableNumbers
    }

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try source.visit(with: TableVisitor(visitor, numbers))
    }

    /// Converts record counts from the source's collections.
    func counts(_ counts: [Int]) -> [Int] { zip(counts, numbers).compactMap { count, number in number == nil ? nil : count } }
}

private final class TableVisitor: RecordVisitor {
    private let next: any RecordVisitor
    private let numbers: [Int?]

    init(_ next: any RecordVisitor, _ numbers: [Int?]) {
        self.next = next
        self.numbers = numbers
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { try next.visit(metadata: metadata) }
    func visit(settings: RecordBuffer) throws(BackupError) { try next.visit(settings: settings) }

    func beginCollection(_ collection: Int) throws(BackupError) {
        if let number = numbers[collection] { try next.beginCollection(number) }
    }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        if let number = numbers[collection] { try next.visit(record: record, of: number) }
    }

    func visit(unknownField path: String) throws(BackupError) { try next.visit(unknownField: path) }
    func visit(misplaced message: Message) throws(BackupError) { try next.visit(misplaced: message) }
}
