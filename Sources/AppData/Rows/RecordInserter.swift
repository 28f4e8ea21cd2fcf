import BackupCore
import SQLite

/// Inserts a source's data into the definition's tables. It refuses values of the wrong kind even after a validation: SQLite
/// itself would accept them.
final class RecordInserter: RecordVisitor {
    private let connection: DatabaseConnection
    private let definition: AppDefinition
    private let statements: [DatabaseStatement]
    /// The fields of each collection that have a column.
    private let stored: [[Int]]
    /// For records that lack some fields of type `any`: their columns get the table's own defaults.
    private var shorterStatements: [[Int]: DatabaseStatement] = [:]
    private let rules: [[FieldRule]]
    private(set) var counts: [Int]
    /// For metadata and settings.
    let keyValues: KeyValueWriter
    /// Whether the source's settings are written.
    var takesSettings = true
    /// Collections whose rows were copied: their records are only counted.
    private var copied: Set<Int> = []
    /// Statements that write the values of a copied collection's records for the columns that differ.
    private var rewriting: [(collection: Int, field: Int, statement: DatabaseStatement)] = []
    /// Whether a collection was in the source, even if empty.
    private(set) var wasVisited: [Bool]

    init(connection: DatabaseConnection, definition: AppDefinition) throws(BackupError) {
        self.connection = connection
        self.definition = definition
        keyValues = KeyValueWriter(connection: connection, definition: definition)
        counts = Array(repeating: 0, count: definition.collections.count)
        wasVisited = Array(repeating: false, count: definition.collections.count)
        var statements: [DatabaseStatement] = []
        let stored = definition.collections.map { collection in
            collection.fields.indices.filter { collection.fields[$0].keyColumns.isEmpty }
        }
        for (collection, fields) in zip(definition.collections, stored) {
            statements.append(try connection.statement(Self.insertion(of: fields, into: collection)))
        }
        self.statements = statements
        self.stored = stored
        rules = definition.collections.map { $0.fields.map { FieldRule($0, now: Timestamp(seconds: 0)) } }
    }

    func beginCollection(_ collection: Int) throws(BackupError) {
        wasVisited[collection] = true
        guard definition.coversWholeDatabase else { return }
        // Not earlier: entries that SQLite has since made for rows of other tables (sqlite_sequence) are deleted with the old
        // rows.
        let table = quotedIdentifier(definition.collections[collection].table)
        try connection.run("DELETE FROM \(table)")
    }

    /// Parameters are numbered by field.
    private static func insertion(of fields: [Int], into collection: CollectionDefinition) -> String {
        let columns = fields.map { quotedIdentifier(collection.fields[$0].column) }.joined(separator: ", ")
        let marks = fields.map { "?\($0 + 1)" }.joined(separator: ", ")
        return "INSERT INTO \(quotedIdentifier(collection.table)) (\(columns)) VALUES (\(marks))"
    }

    /// From now on, records of tables whose rows were copied are counted, and not inserted.
    func records(areCopiedFrom rows: BackupRows) throws(BackupError) {
        for (index, collection) in definition.collections.enumerated() where rows.has(collection.table) {
            copied.insert(index)
            for rewritten in rows.rewritten where rewritten.table == SchemaName(collection.table) {
                guard let field = collection.fields.firstIndex(where: { SchemaName($0.column) == SchemaName(rewritten.column) })
                else { continue }
                let column = quotedIdentifier(rewritten.column)
                let statement = try connection.statement(
                    """
                    UPDATE \(quotedIdentifier(collection.table)) SET \(column) = ?1
                    WHERE \(DatabaseRecordReader.expression(collection.keyField, on: connection)) = ?2 AND \(column) IS NOT ?1
                    """)
                rewriting.append((index, field, statement))
            }
        }
    }

    private func rewrite(_ record: RecordBuffer, of collection: Int) throws(BackupError) {
        for (_, field, statement) in rewriting.filter({ $0.collection == collection }) {
            // Keeps the table's own default.
            if rules[collection][field].type == .any, record.kind(field) == .missing { continue }
            try Self.bind(record, field, to: 1, of: statement)
            try Self.bind(record, definition.collections[collection].keyIndex, to: 2, of: statement)
            try statement.run()
        }
    }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        if copied.contains(collection) {
            try rewrite(record, of: collection)
            counts[collection] += 1
            return
        }
        let lacksColumns = try check(record, of: collection)
        let rules = rules[collection]
        let statement = lacksColumns ? try shorterStatement(for: record, of: collection) : statements[collection]
        for index in stored[collection] where !(rules[index].type == .any && record.kind(index) == .missing) {
            try Self.bind(record, index, to: Int32(index + 1), of: statement)
        }
        try statement.run()
        counts[collection] += 1
    }

    /// - Returns: whether the record lacks a field of type `any`.
    /// - Throws: `invalidContent` for a value of the wrong kind for its field.
    @discardableResult
    func check(_ record: RecordBuffer, of collection: Int) throws(BackupError) -> Bool {
        let rules = rules[collection]
        var lacksColumns = false
        for index in 0..<rules.count {
            if !rules[index].fits(record.kind(index)) { throw refusal(record, index, of: collection) }
            if rules[index].type == .any, record.kind(index) == .missing { lacksColumns = true }
        }
        return lacksColumns
    }

    private func shorterStatement(for record: RecordBuffer, of collection: Int) throws(BackupError) -> DatabaseStatement {
        let definition = definition.collections[collection]
        let fields = stored[collection].filter { definition.fields[$0].type != .any || record.kind($0) != .missing }
        if let known = shorterStatements[[collection] + fields] { return known }
        let statement = try connection.statement(Self.insertion(of: fields, into: definition))
        shorterStatements[[collection] + fields] = statement
        return statement
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { try insert(metadata, of: definition.metadata) }

    func visit(settings: RecordBuffer) throws(BackupError) {
        guard takesSettings, let object = definition.settings else { return }
        try insert(settings, of: object)
    }

    func visit(misplaced message: Message) throws(BackupError) { throw refusal(message) }

    /// Writes the database's own schema version, regardless of the file's version.
    func insertSchemaVersion() throws(BackupError) {
        for field in definition.metadata.fields where field.source == .schemaVersion && !field.column.isEmpty {
            try keyValues.write(version: definition.writtenVersion, for: field.column, of: definition.metadata)
        }
    }

    private func insert(_ buffer: RecordBuffer, of object: ObjectDefinition) throws(BackupError) {
        for (index, field) in object.fields.enumerated() where field.source == .stored && field.isRestored {
            // The app's own value has been copied back, whatever it is.
            if keyValues.hasCopied(field, of: object) { continue }
            guard let problem = FieldConformance.problem(buffer, index, field) else { continue }
            throw refusal(object.isInline ? problem : "\(object.name): \(problem)")
        }
        try keyValues.write(buffer, of: object)
    }

    static func bind(
        _ record: RecordBuffer, _ index: Int, to parameter: Int32, of statement: DatabaseStatement
    ) throws(BackupError) {
        switch record.kind(index) {
        case .missing, .null, .number, .array, .object: statement.bindNull(parameter)
        case .integer: statement.bind(parameter, integer: record.integer(index))
        case .real: statement.bind(parameter, real: record.real(index))
        case .boolean: statement.bind(parameter, integer: record.boolean(index) ? 1 : 0)
        case .text: try statement.bind(parameter, text: record.bytes(index))
        case .blob: try statement.bind(parameter, blob: record.bytes(index))
        }
    }

    private func refusal(_ record: RecordBuffer, _ index: Int, of collection: Int) -> BackupError {
        let field = definition.collections[collection].fields[index]
        let problem = FieldConformance.problem(record, index, field) ?? "\(field.name) is not valid"
        return refusal("\(definition.collections[collection].singular): \(problem)")
    }

    private func refusal(_ message: Message) -> BackupError {
        BackupError(.invalidContent, "Import failed: \(message)", path: connection.path)
    }
}
