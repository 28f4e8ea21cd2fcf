import BackupCore
import SQLite

/// Reads the definition's tables from an open connection. Column values are returned unchanged: a value of a kind that the field
/// does not have keeps its kind, and is never converted to fit.
struct DatabaseRecordReader {
    let connection: DatabaseConnection
    let definition: AppDefinition
    var path: String { connection.path }
    /// Whether rows are read only from their tables. Then sorting needs space for all of them.
    var avoidsIndexes = false

    private func source(_ table: String) -> String { quotedIdentifier(table) + (avoidsIndexes ? " NOT INDEXED" : "") }

    /// For a collection that is in a table.
    func count(of collection: Int) throws(BackupError) -> Int {
        let table = source(definition.collections[collection].table)
        let statement = try connection.statement("SELECT count(*) FROM \(table)")
        return try statement.step() ? Int(statement.integer(0)) : 0
    }

    /// In ascending order of the key.
    func forEachRecord(
        of collection: Int, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let statement = try statement(of: collection, where: "")
        try forEachRecord(of: collection, statement, body)
    }

    /// The records with a row number in these ranges, which are in ascending order. For a collection in `rowTrees`.
    func forEachRecord(
        of collection: Int, in ranges: [ClosedRange<Int64>], _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let key = Self.expression(definition.collections[collection].keyField, on: connection)
        let statement = try statement(of: collection, where: " WHERE \(key) BETWEEN ?1 AND ?2")
        for range in ranges {
            statement.reset()
            statement.bind(1, integer: range.lowerBound)
            statement.bind(2, integer: range.upperBound)
            try forEachRecord(of: collection, statement, body)
        }
    }

    private func statement(of collection: Int, where condition: String) throws(BackupError) -> DatabaseStatement {
        let description = definition.collections[collection]
        let columns = description.fields.map { Self.expression($0, on: connection) }.joined(separator: ", ")
        let key = Self.expression(description.keyField, on: connection)
        // BINARY regardless of the column's own collation: comparisons of two exports rely on the order.
        return try connection.statement(
            "SELECT \(columns) FROM \(source(description.table))\(condition) ORDER BY \(key) COLLATE BINARY")
    }

    private func forEachRecord(
        of collection: Int, _ statement: DatabaseStatement, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let description = definition.collections[collection]
        let buffer = RecordBuffer(fieldCount: description.fields.count)
        let types = description.fields.map(\.type)
        while try statement.step() {
            buffer.clear()
            for index in 0..<types.count { Self.read(statement, Int32(index), types[index], into: buffer, index) }
            try body(buffer)
        }
    }

    /// Where the rows are, for each collection that is written in the order of row numbers, by its index.
    func rowTrees() throws(BackupError) -> [Int: RowTree] {
        guard !avoidsIndexes else { return [:] }
        let schema = try DatabaseSchema.read(connection)
        let encoding = Array("\(try connection.text("PRAGMA encoding") ?? "") ".utf8)
        var trees: [Int: RowTree] = [:]
        for (index, collection) in definition.collections.enumerated() {
            trees[index] = try rowTree(of: collection, schema, encoding)
        }
        return trees
    }

    private func rowTree(
        of description: CollectionDefinition, _ schema: DatabaseSchema, _ encoding: [UInt8]
    ) throws(BackupError) -> RowTree? {
        guard description.source == .table, description.keyField.keyColumns.isEmpty else { return nil }
        guard let table = schema.table(exactly: description.table) else { return nil }
        let column = try schema.rowNumberColumn(of: table)?.name.text ?? DatabaseSchema.rowNumberName(notAmong: table.columns)
        guard column.map({ $0.utf8.elementsEqual(description.keyField.column.utf8) }) == true else { return nil }
        let statement = try connection.statement(
            "SELECT rootpage, sql FROM sqlite_master WHERE type = 'table' AND name = ?1")
        try statement.bind([table.name.text])
        guard try statement.step(), let page = UInt32(exactly: statement.integer(0)), page > 1 else { return nil }
        // Its bytes: a default need not be UTF-8.
        return RowTree(rootPage: page, form: encoding + statement.bytes(1, isText: true))
    }

    /// For statements on this connection.
    static func expression(_ field: FieldDefinition, on connection: DatabaseConnection) -> String {
        field.keyColumns.isEmpty ? quotedIdentifier(field.column) : RowKey.expression(field.keyColumns, on: connection)
    }

    /// Reads one column of a row as a field of that type.
    static func read(
        _ statement: DatabaseStatement, _ column: Int32, _ type: FieldType, into buffer: RecordBuffer, _ index: Int
    ) {
        switch statement.type(column) {
        case .null: buffer.setNull(index)
        case .integer:
            let value = statement.integer(column)
            if type == .boolean, value == 0 || value == 1 {
                buffer.set(index, boolean: value == 1)
            } else if type == .double, let real = Double(exactly: value) {
                buffer.set(index, real: real)
            } else {
                buffer.set(index, integer: value)
            }
        case .real: buffer.set(index, real: statement.real(column))
        case .blob: buffer.set(index, .blob, bytes: statement.bytes(column, isText: false))
        case .text:
            let bytes = statement.bytes(column, isText: true)
            if type == .date, let text = DateText.normalised(bytes) {
                buffer.set(index, text: text)
            } else {
                buffer.set(index, .text, bytes: bytes)
            }
        }
    }

    /// An object whose values are in a key/value table; a missing row has the field's default.
    /// - Parameter creationTime: the value of fields with that source.
    func object(_ object: ObjectDefinition, creationTime: Timestamp?, schemaVersion: Int?) throws(BackupError) -> RecordBuffer {
        let rows = try keyValues(of: object)
        let buffer = RecordBuffer(fieldCount: object.fields.count)
        for (index, field) in object.fields.enumerated() {
            switch field.source {
            case .creationTime:
                if let creationTime { buffer.set(index, time: creationTime, as: field.type) }
            case .constant:
                if let value = field.defaultValue { Self.set(buffer, index, .text(value), field.type) }
            // An object without stored values has the definition's version.
            case .schemaVersion where schemaVersion != nil || object.table == nil:
                buffer.set(index, integer: Int64(schemaVersion ?? definition.schemaVersion))
            case .schemaVersion, .stored:
                if let value = rows[field.column] ?? field.defaultValue.map(FieldValue.text) {
                    Self.set(buffer, index, value, field.type)
                }
            }
        }
        return buffer
    }

    /// The version of the data's wire format, as recorded in the database; `nil` when it is not.
    func storedVersion() throws(BackupError) -> Int? {
        guard let index = definition.metadataIndex(source: .schemaVersion) else { return nil }
        switch try keyValues(of: definition.metadata)[definition.metadata.fields[index].column] {
        case .integer(let number): return Int(exactly: number)
        case let value: return value?.string.flatMap { Int($0) }
        }
    }

    /// All rows of a key/value table; skips keys that are not text, and values that are null.
    func keyValues(of object: ObjectDefinition) throws(BackupError) -> [String: FieldValue] {
        guard let table = object.table else { return [:] }
        let statement = try connection.statement("SELECT \"key\", \"value\" FROM \(source(table))")
        let buffer = RecordBuffer(fieldCount: 1)
        var rows: [String: FieldValue] = [:]
        while try statement.step() {
            guard statement.type(0) == .text, statement.type(1) != .null else { continue }
            buffer.clear()
            Self.read(statement, 1, .text, into: buffer, 0)
            rows[statement.text(0)] = buffer.value(0)
        }
        return rows
    }

    /// Values of key/value tables are texts; the field determines their type.
    private static func set(_ buffer: RecordBuffer, _ index: Int, _ value: FieldValue, _ type: FieldType) {
        // A column without a type keeps numbers as numbers.
        if type == .boolean, case .integer(let number) = value, number == 0 || number == 1 {
            return buffer.set(index, boolean: number == 1)
        }
        guard let text = value.string else { return buffer.set(index, value) }
        switch type {
        case .integer, .epochMilliseconds:
            if let number = Int64(text) { return buffer.set(index, integer: number) }
        case .double:
            if let number = Double(text), number.isFinite { return buffer.set(index, real: number) }
        case .boolean:
            if let flag = ["0": false, "1": true, "false": false, "true": true][text] { return buffer.set(index, boolean: flag) }
        case .text, .decimalText, .date, .dates, .uuid, .any: break
        }
        buffer.set(index, value)
    }

    /// Visits everything, in the order of the envelope.
    /// - Parameter ranges: of the row numbers that are visited, in ascending order, for collections of which only these are. They
    ///   are in `rowTrees`.
    func visitAll(
        with visitor: any RecordVisitor, creationTime: Timestamp?, schemaVersion: Int?, only ranges: RowRanges = [:]
    ) throws(BackupError) {
        // Inline metadata comes first, even if other members are between its own.
        if definition.metadata.isInline {
            try visitor.visit(metadata: object(definition.metadata, creationTime: creationTime, schemaVersion: schemaVersion))
        }
        for member in definition.envelope {
            switch member {
            case .metadataField: continue
            case .metadata:
                try visitor.visit(
                    metadata: object(definition.metadata, creationTime: creationTime, schemaVersion: schemaVersion))
            case .settings:
                guard let settings = definition.settings else { continue }
                try visitor.visit(settings: object(settings, creationTime: creationTime, schemaVersion: schemaVersion))
            case .collection(let collection):
                guard definition.collections[collection].source == .table else { continue }
                try visitor.beginCollection(collection)
                func visit(_ record: RecordBuffer) throws(BackupError) { try visitor.visit(record: record, of: collection) }
                if let ranges = ranges[collection] {
                    try forEachRecord(of: collection, in: ranges, visit)
                } else {
                    try forEachRecord(of: collection, visit)
                }
            }
        }
    }
}

/// Row numbers of collections, by their index in the definition.
public typealias RowRanges = [Int: [ClosedRange<Int64>]]

/// Where the rows of a table are.
public struct RowTree: Sendable, Equatable {
    /// Of the b-tree.
    public let rootPage: UInt32
    /// What the values of a row depend on, besides its bytes: the table's SQL, which has defaults of columns that were added, and
    /// how texts are stored.
    public let form: [UInt8]
}

extension AppDefinition {
    /// The wire format in which an open database's data came in and goes out. For a database without a definition, with the
    /// tables that it has.
    func format(ofDatabase connection: DatabaseConnection) throws(BackupError) -> AppDefinition {
        if coversWholeDatabase {
            return covering(try WholeDatabase(connection).collections())
        }
        guard !otherFormats.isEmpty else { return self }
        let reader = DatabaseRecordReader(connection: connection, definition: self)
        return try reader.storedVersion().map(format(ofVersion:)) ?? self
    }
}
