import BackupCore
import SQLite

extension AppDatabase {
    /// Calls `body` with the records of one moment.
    /// - Throws: `notSupported` when they cannot be exchanged between devices; `notFound`, `invalidContent`,
    ///   `unsupportedVersion` and `busy` when the database is not one whose records may be exchanged now.
    public func readRecords<Result>(
        _ body: (RecordExchange) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try read { (connection) throws(BackupError) in try body(RecordExchange(connection, definition, isWriting: false)) }
    }

    /// The same in a transaction that writes: no other program writes meanwhile. It is committed when `body` returns, and durable
    /// then; any error rolls it back.
    public func exchangeRecords<Result>(
        _ body: (RecordExchange) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try write { (connection) throws(BackupError) in try body(RecordExchange(connection, definition, isWriting: true)) }
    }
}

/// Reads and writes single records by their keys, for an exchange between the devices of an app. Valid inside a transaction, on
/// its thread.
public final class RecordExchange {
    /// In the format of the data.
    public let definition: AppDefinition
    private let connection: DatabaseConnection
    private let buffer: [RecordBuffer]
    private let key = RecordBuffer(fieldCount: 1)
    private var selections: [Int: DatabaseStatement] = [:]
    private var removals: [Int: DatabaseStatement] = [:]
    private var inserter: RecordInserter?
    private var updates: [Int: DatabaseStatement] = [:]

    fileprivate init(_ connection: DatabaseConnection, _ app: AppDefinition, isWriting: Bool) throws(BackupError) {
        try ExchangeRules.requireExchangeable(app)
        let schema = try DatabaseSchema.read(connection)
        try ExchangeRules.requireUsable(schema, app)
        definition = try app.format(ofDatabase: connection)
        self.connection = connection
        buffer = definition.collections.map { RecordBuffer(fieldCount: $0.fields.count) }
        if isWriting { inserter = try RecordInserter(connection: connection, definition: definition) }
    }

    /// All records of a collection, in the order of their keys; the buffer is valid only during the call.
    public func forEachRecord(
        of collection: Int, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let description = definition.collections[collection]
        // BINARY regardless of the column's own collation: equal keys come one after the other.
        let statement = try connection.statement(
            "\(Self.selection(description)) ORDER BY \(quotedIdentifier(description.keyField.column)) COLLATE BINARY")
        let buffer = RecordBuffer(fieldCount: description.fields.count)
        while try statement.step() {
            Self.read(statement, description, into: buffer)
            try body(buffer)
        }
    }

    private static func selection(_ collection: CollectionDefinition) -> String {
        let columns = collection.fields.map { quotedIdentifier($0.column) }.joined(separator: ", ")
        return "SELECT \(columns) FROM \(quotedIdentifier(collection.table))"
    }

    /// Exactly as the database has it, so that another device's has the same: a date keeps its time zone, and a whole number in a
    /// field of numbers stays one.
    private static func read(
        _ statement: DatabaseStatement, _ collection: CollectionDefinition, into buffer: RecordBuffer
    ) {
        buffer.clear()
        for (index, field) in collection.fields.enumerated() {
            let type: FieldType = field.type == .boolean ? .boolean : .any
            DatabaseRecordReader.read(statement, Int32(index), type, into: buffer, index)
        }
    }

    /// - Returns: `nil` when there is none with exactly this key.
    public func record(of collection: Int, key value: FieldValue) throws(BackupError) -> Record? {
        let description = definition.collections[collection]
        let selection: DatabaseStatement
        if let known = selections[collection] {
            selection = known
        } else {
            selection = try connection.statement("\(Self.selection(description)) WHERE \(Self.condition(description, 1))")
            selections[collection] = selection
        }
        set(value)
        try RecordInserter.bind(key, 0, to: 1, of: selection)
        defer { selection.reset() }
        guard try selection.step() else { return nil }
        let buffer = buffer[collection]
        Self.read(selection, description, into: buffer)
        return buffer.record()
    }

    /// Why a record does not fit the definition; `nil` when it does.
    public func problem(with record: Record, in collection: Int) -> Message? {
        let description = definition.collections[collection]
        let buffer = buffer[collection]
        buffer.set(record)
        guard buffer.kind(description.keyIndex) == .text else { return "\(description.keyField.name) must be a text" }
        for (index, field) in description.fields.enumerated() {
            if let problem = FieldConformance.problem(buffer, index, field) { return problem }
        }
        return nil
    }

    /// Adds a record, or gives the one with its key these values. Columns that the definition does not name stay as they are, or
    /// get their defaults.
    /// - Throws: `invalidContent` when the database refuses it.
    public func put(_ record: Record, in collection: Int) throws(BackupError) {
        let description = definition.collections[collection]
        let isThere = try self.record(of: collection, key: record.values[description.keyIndex]) != nil
        let buffer = buffer[collection]
        buffer.set(record)
        guard isThere else {
            try inserter?.visit(record: buffer, of: collection)
            return
        }
        let update: DatabaseStatement
        let count = description.fields.count
        if let known = updates[collection] {
            update = known
        } else {
            let changes = description.fields.enumerated().map { "\(quotedIdentifier($1.column)) = ?\($0 + 1)" }
            update = try connection.statement(
                "UPDATE \(quotedIdentifier(description.table)) SET \(changes.joined(separator: ", ")) "
                    + "WHERE \(Self.condition(description, count + 1))")
            updates[collection] = update
        }
        for index in description.fields.indices { try RecordInserter.bind(buffer, index, to: Int32(index + 1), of: update) }
        try RecordInserter.bind(key, 0, to: Int32(count + 1), of: update)
        try update.run()
    }

    /// Removes the record with exactly this key.
    public func remove(key value: FieldValue, from collection: Int) throws(BackupError) {
        let description = definition.collections[collection]
        let removal: DatabaseStatement
        if let known = removals[collection] {
            removal = known
        } else {
            removal = try connection.statement(
                "DELETE FROM \(quotedIdentifier(description.table)) WHERE \(Self.condition(description, 1))")
            removals[collection] = removal
        }
        set(value)
        try RecordInserter.bind(key, 0, to: 1, of: removal)
        try removal.run()
    }

    private func set(_ value: FieldValue) {
        key.clear()
        key.set(0, value)
    }

    /// The column may treat texts as equal that differ in their bytes.
    private static func condition(_ collection: CollectionDefinition, _ parameter: Int) -> String {
        let column = quotedIdentifier(collection.keyField.column)
        return "\(column) = ?\(parameter) AND \(column) = ?\(parameter) COLLATE BINARY"
    }
}
