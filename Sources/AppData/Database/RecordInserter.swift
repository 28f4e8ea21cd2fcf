import BackupCore

/// Inserts what a source has into the definition's tables. It refuses values of the wrong kind even though a validation has
/// gone before: SQLite itself would take them.
final class RecordInserter: RecordVisitor {
    private let connection: OpaquePointer?
    private let definition: AppDefinition
    private let path: String
    private let statements: [DatabaseStatement]
    private let rules: [[FieldRule]]
    private(set) var counts: [Int]

    init(connection: OpaquePointer?, definition: AppDefinition, path: String) throws(BackupError) {
        self.connection = connection
        self.definition = definition
        self.path = path
        counts = Array(repeating: 0, count: definition.collections.count)
        var statements: [DatabaseStatement] = []
        for collection in definition.collections {
            let columns = collection.fields.map { quotedIdentifier($0.column) }.joined(separator: ", ")
            let marks = collection.fields.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
            statements.append(
                try DatabaseStatement(
                    connection, "INSERT INTO \(quotedIdentifier(collection.table)) (\(columns)) VALUES (\(marks))", path: path))
        }
        self.statements = statements
        rules = definition.collections.map { $0.fields.map { FieldRule($0, now: Timestamp(seconds: 0)) } }
    }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        let statement = statements[collection]
        let rules = rules[collection]
        for index in 0..<rules.count {
            if !rules[index].fits(record.kind(index)) { throw refusal(record, index, of: collection) }
            try Self.bind(record, index, to: Int32(index + 1), of: statement)
        }
        try statement.run()
        counts[collection] += 1
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { try insert(metadata, of: definition.metadata) }

    func visit(settings: RecordBuffer) throws(BackupError) {
        guard let object = definition.settings else { return }
        try insert(settings, of: object)
    }

    func visit(misplaced message: String) throws(BackupError) { throw refusal(message) }

    /// The database's own schema version, whatever version the file was of.
    func insertSchemaVersion() throws(BackupError) {
        for field in definition.metadata.fields where field.source == .schemaVersion && !field.column.isEmpty {
            try insert(key: field.column, value: String(definition.schemaVersion), into: definition.metadata.table)
        }
    }

    private func insert(_ buffer: RecordBuffer, of object: ObjectDefinition) throws(BackupError) {
        for (index, field) in object.fields.enumerated() where field.source == .stored {
            if let problem = FieldConformance.problem(buffer, index, field) { throw refusal("\(object.name): \(problem)") }
            let value: String
            switch buffer.kind(index) {
            case .integer: value = String(buffer.integer(index))
            case .real: value = buffer.real(index).description
            case .boolean: value = buffer.boolean(index) ? "true" : "false"
            case .text: value = String(decoding: buffer.bytes(index), as: UTF8.self)
            default: continue
            }
            try insert(key: field.column, value: value, into: object.table)
        }
    }

    private func insert(key: String, value: String, into table: String) throws(BackupError) {
        let statement = try DatabaseStatement(
            connection, "INSERT OR REPLACE INTO \(quotedIdentifier(table)) (\"key\", \"value\") VALUES (?1, ?2)", path: path)
        let row = RecordBuffer(fieldCount: 2)
        row.set(0, text: key)
        row.set(1, text: value)
        try statement.bind(1, text: row.bytes(0))
        try statement.bind(2, text: row.bytes(1))
        try withExtendedLifetime(row) { () throws(BackupError) in try statement.run() }
    }

    private static func bind(
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

    private func refusal(_ message: String) -> BackupError {
        BackupError(.invalidContent, "Import failed: \(message)", path: path)
    }
}
