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
    private let reader: DatabaseRecordReader
    private let buffer: [RecordBuffer]
    private let key = RecordBuffer(fieldCount: 1)
    private var selections: [Int: DatabaseStatement] = [:]
    private var removals: [Int: DatabaseStatement] = [:]
    private var inserter: RecordInserter?
    private var updaters: [Int: RecordUpdater] = [:]

    fileprivate init(_ connection: DatabaseConnection, _ app: AppDefinition, isWriting: Bool) throws(BackupError) {
        try ExchangeRules.requireExchangeable(app)
        let schema = try DatabaseSchema.read(connection)
        try ExchangeRules.requireUsable(schema, app)
        definition = try app.format(ofDatabase: connection)
        self.connection = connection
        reader = DatabaseRecordReader(connection: connection, definition: definition)
        buffer = definition.collections.map { RecordBuffer(fieldCount: $0.fields.count) }
        if isWriting { inserter = try RecordInserter(connection: connection, definition: definition) }
    }

    /// All records of a collection, in the order of their keys; the buffer is valid only during the call.
    public func forEachRecord(
        of collection: Int, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        try reader.forEachRecord(of: collection, body)
    }

    /// - Returns: `nil` when there is none with exactly this key.
    public func record(of collection: Int, key value: FieldValue) throws(BackupError) -> Record? {
        let description = definition.collections[collection]
        let selection: DatabaseStatement
        if let known = selections[collection] {
            selection = known
        } else {
            let columns = description.fields.map { quotedIdentifier($0.column) }.joined(separator: ", ")
            selection = try connection.statement(
                "SELECT \(columns) FROM \(quotedIdentifier(description.table)) WHERE \(Self.condition(description))")
            selections[collection] = selection
        }
        set(value)
        try RecordInserter.bind(key, 0, to: 1, of: selection)
        defer { selection.reset() }
        guard try selection.step() else { return nil }
        let buffer = buffer[collection]
        buffer.clear()
        for (index, field) in description.fields.enumerated() {
            DatabaseRecordReader.read(selection, Int32(index), field.type, into: buffer, index)
        }
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
        let updater: RecordUpdater
        if let known = updaters[collection] {
            updater = known
        } else {
            updater = try RecordUpdater(description, isFileOlder: false, connection: connection)
            updaters[collection] = updater
        }
        _ = try updater.update(key, to: buffer)
    }

    /// Removes the record with exactly this key.
    public func remove(key value: FieldValue, from collection: Int) throws(BackupError) {
        let description = definition.collections[collection]
        let removal: DatabaseStatement
        if let known = removals[collection] {
            removal = known
        } else {
            removal = try connection.statement(
                "DELETE FROM \(quotedIdentifier(description.table)) WHERE \(Self.condition(description))")
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
    private static func condition(_ collection: CollectionDefinition) -> String {
        let column = quotedIdentifier(collection.keyField.column)
        return "\(column) = ?1 AND \(column) = ?1 COLLATE BINARY"
    }
}
