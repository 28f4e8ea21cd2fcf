import BackupCore
import GRDBSQLite

/// Updates a record of one collection, and writes only the columns that differ.
final class RecordUpdater {
    /// The number of prepared statements to keep, one for each set of columns.
    private static let statementLimit = 64

    private let connection: OpaquePointer?
    private let path: String
    private let collection: CollectionDefinition
    private let selection: DatabaseStatement
    private let present: RecordBuffer
    /// Whether members missing from the file may have been unknown to it.
    private let isFileOlder: Bool
    private var statements: [UInt64: DatabaseStatement] = [:]

    init(_ collection: CollectionDefinition, isFileOlder: Bool, connection: OpaquePointer?, path: String) throws(BackupError) {
        self.connection = connection
        self.path = path
        self.collection = collection
        self.isFileOlder = isFileOlder
        let columns = collection.fields.map { quotedIdentifier($0.column) }.joined(separator: ", ")
        selection = try DatabaseStatement(
            connection, "SELECT \(columns) FROM \(quotedIdentifier(collection.table)) WHERE \(Self.condition(collection, 1))",
            path: path)
        present = RecordBuffer(fieldCount: collection.fields.count)
    }

    /// The row with exactly this key: the column may treat texts as equal that differ in their bytes.
    private static func condition(_ collection: CollectionDefinition, _ parameter: Int) -> String {
        let column = quotedIdentifier(collection.keyField.column)
        return "\(column) = ?\(parameter) AND \(column) = ?\(parameter) COLLATE BINARY"
    }

    /// - Parameters:
    ///   - key: the record's key in the database, in field 0.
    ///   - record: the new values; its own key is ignored.
    /// - Returns: whether any differed.
    func update(_ key: RecordBuffer, to record: RecordBuffer) throws(BackupError) -> Bool {
        try read(key)
        var differing: UInt64 = 0
        for index in collection.fields.indices where index != collection.keyIndex && !isSame(record, index) {
            differing |= 1 << UInt64(index)
        }
        guard differing != 0 else { return false }
        let statement = try statement(for: differing)
        for index in collection.fields.indices where differing & 1 << UInt64(index) != 0 {
            try RecordInserter.bind(record, index, to: Int32(index + 1), of: statement)
        }
        try RecordInserter.bind(key, 0, to: Int32(collection.fields.count + 1), of: statement)
        try statement.run()
        guard sqlite3_changes(connection) == 1 else { throw lost(key) }
        return true
    }

    private func read(_ key: RecordBuffer) throws(BackupError) {
        try RecordInserter.bind(key, 0, to: 1, of: selection)
        defer { selection.reset() }
        guard try selection.step() else { throw lost(key) }
        present.clear()
        for (index, field) in collection.fields.enumerated() {
            DatabaseRecordReader.read(selection, Int32(index), field.type, into: present, index)
        }
    }

    /// Compares exactly, bit by bit. A missing member means null where exports omit nulls; elsewhere it is ignored.
    private func isSame(_ record: RecordBuffer, _ index: Int) -> Bool {
        switch (record.kind(index), present.kind(index)) {
        case (.missing, _) where isFileOlder || !collection.fields[index].isNullable: true
        case (.missing, .null), (.null, .null): true
        case (.integer, .integer): record.integer(index) == present.integer(index)
        case (.boolean, .boolean): record.boolean(index) == present.boolean(index)
        case (.real, .real): record.real(index).bitPattern == present.real(index).bitPattern
        case (.text, .text), (.blob, .blob): record.bytes(index).elementsEqual(present.bytes(index))
        default: false
        }
    }

    private func statement(for differing: UInt64) throws(BackupError) -> DatabaseStatement {
        if let known = statements[differing] { return known }
        if statements.count >= Self.statementLimit { statements.removeAll() }
        let changes = collection.fields.indices.filter { differing & 1 << UInt64($0) != 0 }.map { index in
            "\(quotedIdentifier(collection.fields[index].column)) = ?\(index + 1)"
        }
        let statement = try DatabaseStatement(
            connection,
            "UPDATE \(quotedIdentifier(collection.table)) SET \(changes.joined(separator: ", ")) "
                + "WHERE \(Self.condition(collection, collection.fields.count + 1))", path: path)
        statements[differing] = statement
        return statement
    }

    private func lost(_ key: RecordBuffer) -> BackupError {
        BackupError(
            .invalidContent,
            "Import failed: the \(collection.singular) \(key.value(0).messageText) could not be updated",
            path: path)
    }
}
