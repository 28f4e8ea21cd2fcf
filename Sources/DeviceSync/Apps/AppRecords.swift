import AppData
import BackupCore

/// The records of an app's database.
public struct AppRecords: SyncedDatabase {
    private let database: AppDatabase

    public init(_ database: AppDatabase) { self.database = database }

    public func read<Result>(
        _ body: (any RecordReading) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try database.readRecords { (exchange) throws(BackupError) in try body(ExchangedRecords(exchange)) }
    }

    public func write<Result>(
        _ body: (any RecordWriting) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try database.exchangeRecords { (exchange) throws(BackupError) in try body(ExchangedRecords(exchange)) }
    }
}

private struct ExchangedRecords: RecordWriting {
    let form: RecordForm
    private let exchange: RecordExchange

    init(_ exchange: RecordExchange) {
        self.exchange = exchange
        let definition = exchange.definition
        form = RecordForm(
            app: definition.name, schemaVersion: UInt32(clamping: definition.schemaVersion),
            collections: definition.collections.map {
                RecordForm.Collection(name: $0.name, fields: $0.fields.map(\.name), keyIndex: $0.keyIndex)
            })
    }

    func forEachRecord(
        of collection: Int, _ body: ([FieldValue]) throws(BackupError) -> Void
    ) throws(BackupError) {
        try exchange.forEachRecord(of: collection) { (buffer) throws(BackupError) in try body(buffer.record().values) }
    }

    func record(of collection: Int, key: FieldValue) throws(BackupError) -> [FieldValue]? {
        try exchange.record(of: collection, key: key)?.values
    }

    func problem(with values: [FieldValue], in collection: Int) -> Message? {
        exchange.problem(with: Record(values: values), in: collection)
    }

    func put(_ values: [FieldValue], in collection: Int) throws(BackupError) {
        try exchange.put(Record(values: values), in: collection)
    }

    func remove(key: FieldValue, from collection: Int) throws(BackupError) {
        try exchange.remove(key: key, from: collection)
    }
}
