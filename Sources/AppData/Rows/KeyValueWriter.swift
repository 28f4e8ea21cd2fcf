import BackupCore
import SQLite

/// Writes metadata and settings into their key/value tables. An existing row stays in place, and only its value is written: it
/// may have columns that no definition names, and that no backup could restore except in `database.sqlite`.
final class KeyValueWriter {
    private struct Place: Hashable {
        let table: String
        let key: [UInt8]

        init(_ table: String, _ key: String) {
            self.table = table
            self.key = Array(key.utf8)
        }
    }

    private let reader: DatabaseRecordReader
    private var connection: DatabaseConnection { reader.connection }
    /// Keys for which the source has a value.
    private var given: Set<Place> = []
    /// Keys that have the exact value of a backup's row. Nothing else is written there.
    private var copied: Set<Place> = []
    /// Whether the present version is the backup's.
    private var hasVersionOfBackup = false

    init(connection: DatabaseConnection, definition: AppDefinition) {
        reader = DatabaseRecordReader(connection: connection, definition: definition)
    }

    /// Skips a value that already reads the same: the app may spell it in another way, or omit a default.
    func write(_ buffer: RecordBuffer, of object: ObjectDefinition) throws(BackupError) {
        guard let table = object.table else { return }
        let rows = try reader.keyValues(of: object)
        let present = try reader.object(object, creationTime: nil, schemaVersion: nil)
        for (index, field) in object.fields.enumerated()
        where field.source == .stored && field.isRestored && !hasCopied(field, of: object) {
            guard let text = Self.text(buffer, index, like: rows[field.column]) else { continue }
            given.insert(Place(table, field.column))
            guard buffer.value(index) != present.value(index) else { continue }
            try write(Self.value(text, like: rows[field.column]), for: field.column, in: table)
        }
    }

    /// Copies the values that a backup's rows have for the keys of the app's formats. `write` handles keys without a row in the
    /// backup.
    /// - Parameters:
    ///   - rows: of a backup whose data has the reader's format.
    ///   - objects: those whose values are restored.
    func copy(from rows: BackupRows, of objects: [ObjectDefinition]) throws(BackupError) {
        try rows.withDatabase { source throws(BackupError) in
            let reader = DatabaseRecordReader(connection: source.connection, definition: reader.definition)
            let version = try reader.storedVersion()
            let presentVersion = try self.reader.storedVersion()
            hasVersionOfBackup = version == presentVersion || version == reader.definition.writtenVersion
            let target = try DatabaseSchema.read(connection)
            for object in objects {
                guard let table = object.table, let copy = try KeyValueCopy(of: table, from: source, to: target) else { continue }
                for field in object.fields where takes(field) && !copied.contains(Place(table, field.column)) {
                    if try copy.copy(field.column) { copied.insert(Place(table, field.column)) }
                }
            }
        }
    }

    private func takes(_ field: FieldDefinition) -> Bool {
        switch field.source {
        case .stored: field.isRestored
        case .schemaVersion: hasVersionOfBackup && !field.column.isEmpty
        case .creationTime, .constant: false
        }
    }

    func hasCopied(_ field: FieldDefinition, of object: ObjectDefinition) -> Bool {
        object.table.map { copied.contains(Place($0, field.column)) } ?? false
    }

    /// Writes the version that the data has from now on.
    func write(version: Int, for key: String, of object: ObjectDefinition) throws(BackupError) {
        guard let table = object.table, !hasVersionOfBackup else { return }
        let old = try reader.keyValues(of: object)[key]
        let value = Self.value(String(version), like: old)
        if value != old { try write(value, for: key, in: table) }
    }

    /// An app that stored a number in a column without a type expects a number again.
    private static func value(_ text: String, like old: FieldValue?) -> FieldValue {
        let isInteger: Bool
        switch old {
        case .integer: isInteger = true
        case .real: isInteger = false
        default: return .text(text)
        }
        if let number = Int64(text), String(number) == text { return .integer(number) }
        // Another spelling may be a different text.
        guard let number = Double(text), number.isFinite, number.description == text else { return .text(text) }
        if isInteger, let whole = Int64(exactly: number) { return .integer(whole) }
        return .real(number)
    }

    /// - Parameter old: the present value: an app whose flags are numbers gets a number again.
    private static func text(_ buffer: RecordBuffer, _ index: Int, like old: FieldValue?) -> String? {
        switch buffer.kind(index) {
        case .integer: return String(buffer.integer(index))
        case .real: return buffer.real(index).description
        case .boolean:
            let isNumber = old.map { [.integer(0), .integer(1), .text("0"), .text("1")].contains($0) } ?? false
            return buffer.boolean(index) ? (isNumber ? "1" : "true") : (isNumber ? "0" : "false")
        case .text: return String(decoding: buffer.bytes(index), as: UTF8.self)
        default: return nil
        }
    }

    /// The key need not be unique: each of its rows gets the value, which was the same in all (`UnexportedData` reports those
    /// that differ). Keys are compared by their bytes, as in reads, regardless of the column's collation.
    private func write(_ value: FieldValue, for key: String, in table: String) throws(BackupError) {
        let row = RecordBuffer(fieldCount: 2)
        row.set(0, text: key)
        row.set(1, value)
        let name = quotedIdentifier(table)
        for sql in [
            "UPDATE \(name) SET \"value\" = ?2 WHERE \"key\" = ?1 COLLATE BINARY",
            "INSERT INTO \(name) (\"key\", \"value\") VALUES (?1, ?2)",
        ] {
            let statement = try connection.statement(sql)
            try RecordInserter.bind(row, 0, to: 1, of: statement)
            try RecordInserter.bind(row, 1, to: 2, of: statement)
            try withExtendedLifetime(row) { () throws(BackupError) in try statement.run() }
            if connection.changedRowCount > 0 { return }
        }
    }

    /// Removes the stored keys of an object for which the source had no value. Keys that the definition does not name are in no
    /// export, so nothing could restore them: they stay. So does a row that contains more than its value, which is then read as
    /// if it were missing.
    /// - Returns: warnings about values that could not be removed.
    func removeKeysNotGiven(of object: ObjectDefinition) throws(BackupError) -> [Message] {
        guard let table = object.table else { return [] }
        var notes: [Message] = []
        let row = KeyValueRow(connection: connection, table: table)
        for field in object.fields
        where field.source == .stored && field.isRestored && !given.contains(Place(table, field.column))
            && !hasCopied(field, of: object)
        {
            guard let column = try row.columnToKeep(of: field.column) else {
                try connection.run(
                    "DELETE FROM \(quotedIdentifier(table)) WHERE \"key\" = ?1 COLLATE BINARY", field.column)
                continue
            }
            if let value = field.defaultValue {
                let old = try reader.keyValues(of: object)[field.column]
                try write(Self.value(value, like: old), for: field.column, in: table)
            } else if try row.mayBeNull() {
                try write(.null, for: field.column, in: table)
            } else {
                notes.append(
                    """
                    the file has no value for \(MessageText.shortened(field.column)), and the value that is there stays: its row in the table \
                    \(MessageText.shortened(table)) also holds \(MessageText.shortened(column))
                    """)
            }
        }
        return notes
    }
}

/// The rows of a key/value table, which may have columns that no definition names.
struct KeyValueRow {
    /// The name of a column's default in a query: no table of an app has this name.
    private static let defaults = "backupfs_default"

    let connection: DatabaseConnection
    let table: String

    /// An extra column in which a row of the key has a value that could not be restored. A row number that only identifies the
    /// row does not count, and neither does the default of a new row.
    func columnToKeep(of key: String) throws(BackupError) -> String? {
        for column in try columns() where column.isStored && column.keyPosition == 0 {
            let name = column.name.text
            if ["key", "value"].contains(where: { SchemaName($0) == SchemaName(name) }) { continue }
            if try hasValue(name, "IS NOT NULL", key) == false { continue }
            if let expression = column.defaultExpression, try isDefault(name, expression, key) { continue }
            return name
        }
        return nil
    }

    /// Whether the value of a key may be null.
    func mayBeNull() throws(BackupError) -> Bool {
        try columns().contains { SchemaName($0.name.text) == SchemaName("value") && !$0.isRequired && $0.keyPosition == 0 }
    }

    private func columns() throws(BackupError) -> [DatabaseSchema.Column] {
        try DatabaseSchema.columns(of: table, connection)
    }

    /// SQLite treats a name in a default as a text. A default that needs the app's own functions cannot be compared.
    private func isDefault(_ column: String, _ expression: String, _ key: String) throws(BackupError) -> Bool {
        let condition = "IS NOT (SELECT value FROM \(Self.defaults))"
        do throws(BackupError) {
            return try !hasValue(column, condition, key, default: expression)
        } catch let error where error.code == .invalidContent {
            return try !hasValue(column, condition, key, default: Self.text(named: expression))
        }
    }

    /// A name, quoted or not, as an SQL text.
    private static func text(named expression: String) -> String {
        var name = expression
        if name.count > 1, name.hasPrefix("\""), name.hasSuffix("\"") {
            name = String(name.dropFirst().dropLast()).replacing("\"\"", with: "\"")
        }
        return "'\(name.replacing("'", with: "''"))'"
    }

    /// - Parameter expression: evaluated where names in it cannot refer to a column of the table.
    private func hasValue(
        _ column: String, _ condition: String, _ key: String, default expression: String = "NULL"
    ) throws(BackupError) -> Bool {
        try connection.hasRow(
            """
            WITH \(Self.defaults) (value) AS (SELECT \(expression)) SELECT 1 FROM main.\(quotedIdentifier(table))
            WHERE "key" = ?1 COLLATE BINARY AND \(quotedIdentifier(column)) \(condition) LIMIT 1
            """, key)
    }
}

/// Copies the values of named keys from a backup's key/value table, with type and bytes unchanged: a date keeps its time zone, a
/// number its spelling, and NULL is also a value.
struct KeyValueCopy {
    private let target: DatabaseSchema
    private let table: String
    private let rows: DatabaseStatement
    private let update: DatabaseStatement
    private let insertion: DatabaseStatement

    /// - Returns: `nil` when one of the databases lacks the table.
    init?(of table: String, from source: DatabaseSchema, to target: DatabaseSchema) throws(BackupError) {
        guard source.hasKeysAndValues(table), target.hasKeysAndValues(table) else { return nil }
        self.target = target
        self.table = table
        let name = quotedIdentifier(table)
        // Keys are compared by their bytes, as in reads, regardless of the column's collation. If several rows have a key, the
        // last one counts.
        let isKey = "\"key\" = ?1 COLLATE BINARY"
        rows = try source.connection.statement("SELECT \"value\" FROM main.\(name) WHERE \(isKey) AND typeof(\"key\") = 'text'")
        update = try target.connection.statement("UPDATE main.\(name) SET \"value\" = ?2 WHERE \(isKey)")
        insertion = try target.connection.statement("INSERT INTO main.\(name) (\"key\", \"value\") VALUES (?1, ?2)")
    }

    /// An existing row stays in place, and only its value is written.
    /// - Returns: whether the backup has the key, with a value that the table accepts.
    func copy(_ key: String) throws(BackupError) -> Bool {
        for statement in [rows, update, insertion] { try statement.bind([key]) }
        var isCopied = false
        try rows.forEachRow { () throws(BackupError) in
            if rows.type(0) == .null, try !KeyValueRow(connection: target.connection, table: table).mayBeNull() { return }
            isCopied = true
            try write()
        }
        return isCopied
    }

    private func write() throws(BackupError) {
        for statement in [update, insertion] {
            try statement.bind(2, value: 0, of: rows)
            try statement.run()
            if target.connection.changedRowCount > 0 { return }
        }
    }
}

extension DatabaseSchema {
    fileprivate func hasKeysAndValues(_ table: String) -> Bool {
        guard contains(table) else { return false }
        let names = columns(of: table).map { $0.lowercased() }
        return names.contains("key") && names.contains("value")
    }
}
