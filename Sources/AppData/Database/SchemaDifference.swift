import BackupCore
import SQLite

/// How a database and a definition match: everything that is missing, and what the definition does not mention.
public struct SchemaDifference: Sendable, Equatable {
    /// In a message.
    private static let shownNameLimit = 20

    /// Tables and columns that the definition names and the database lacks, in the order of the definition's lines.
    public let problems: [DefinitionProblem]
    /// Columns that a restore would lose, so that it refuses as long as they contain values.
    public let warnings: [DefinitionProblem]
    /// Tables that the definition does not mention, sorted. Backups contain them in `database.sqlite`.
    public let unmentionedTables: [String]

    /// Reads the schema of a database without changing it.
    /// - Parameter tables: the tables and columns that the definition names.
    /// - Throws: `notFound`; `damagedContent` when it is not a database; `databaseInUse` while it is locked.
    public init(of tables: [DefinitionTable], with path: String) throws(BackupError) {
        try self.init(of: tables, with: try AppDatabase.readSchema(of: path))
    }

    private init(of tables: [DefinitionTable], with present: DatabaseSchema) throws(BackupError) {
        let names = present.names
        var problems: [DefinitionProblem] = []
        var warnings: [DefinitionProblem] = []
        for table in tables {
            guard present.contains(table.name) else {
                problems.append(
                    DefinitionProblem(
                        line: table.line, message: "the database has no table \(table.name)",
                        remedy: Self.remedy(
                            for: table.name, "Make the table, or take it out of the definition.",
                            "Make the table, or name another one.", among: names)))
                continue
            }
            let columns = present.columns(of: table.name)
            let named = Set(tables.filter { $0.name == table.name }.flatMap { $0.columns.map { SchemaName($0.name) } })
            let unnamed = present.columns(of: table.name, besides: named)
            for column in table.columns where !columns.contains(column.name) {
                problems.append(
                    DefinitionProblem(
                        line: column.line, message: "the table \(table.name) has no column \(column.name)",
                        remedy: Self.remedy(
                            for: column.name, "Make the column, or take it out of the definition.",
                            "Make the column, or name another one.", among: unnamed)))
            }
            guard table.isWrittenWhole, !unnamed.isEmpty else { continue }
            warnings.append(
                DefinitionProblem(
                    line: table.line,
                    message: "the table \(table.name) has columns without a field: \(unnamed.joined(separator: ", "))",
                    remedy: "Add a field for each: a restore is refused while they hold values, which it would lose."))
        }
        warnings += try Self.triggerWarnings(of: tables, in: present)
        self.problems = DefinitionFindings.sorted(problems)
        self.warnings = DefinitionFindings.sorted(warnings)
        let mentioned = Set(tables.map(\.name))
        unmentionedTables = names.filter { !mentioned.contains($0) }
    }

    /// Warnings about triggers that change tables while a restore writes.
    private static func triggerWarnings(
        of tables: [DefinitionTable], in present: DatabaseSchema
    ) throws(BackupError) -> [DefinitionProblem] {
        let effects = try TriggerEffects(of: tables.map(\.name), in: present)
        return effects.suspended.map { trigger in
            let line = tables.first { $0.name == trigger.table }?.line ?? tables.first?.line ?? 1
            let changes = TriggerEffects.names(trigger.changes)
            guard trigger.indexes.isEmpty else {
                return DefinitionProblem(
                    line: line,
                    message: """
                        the trigger \(trigger.name) changes \(changes) and fills the index \(TriggerEffects.names(trigger.indexes)): every \
                        restore is refused
                        """,
                    remedy: TriggerEffects.problemRemedy)
            }
            return DefinitionProblem(
                line: line, message: "the trigger \(trigger.name) changes \(changes): a restore does not run it",
                remedy: "If the app needs more after a restore than its records, do it in after-restore.")
        }
    }

    /// - Parameters:
    ///   - none: the advice when there are no candidates.
    ///   - some: the advice otherwise.
    private static func remedy(for name: String, _ none: Message, _ some: Message, among known: [String]) -> Message {
        if let meant = SpellingSuggestion.nearest(to: name, among: known) { return "Did you mean \(meant)?" }
        guard !known.isEmpty else { return none }
        let shown = known.prefix(shownNameLimit).joined(separator: ", ") + (known.count > shownNameLimit ? ", …" : "")
        return "\(some) There are: \(shown)."
    }
}

extension AppDatabase {
    /// Reads the schema of any database, in one read transaction.
    fileprivate static func readSchema(of path: String) throws(BackupError) -> DatabaseSchema {
        try requireFile(path)
        try OrphanedLog.requireNone(ofDatabase: path)
        let connection = try DatabaseConnection(path, .readOnly, .app, busyTimeoutSeconds: 5)
        defer { connection.close() }
        connection.refuseQuotedTexts()
        return try connection.transaction(.deferred) { () throws(BackupError) in try DatabaseSchema.read(connection) }
    }
}
