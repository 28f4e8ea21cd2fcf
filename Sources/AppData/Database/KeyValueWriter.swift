import BackupCore
import GRDBSQLite

/// Writes metadata and settings into their tables of keys and values. A row stays where it is, and only its value is written: it may have columns that no
/// definition names, and that no backup could bring back but in `database.sqlite`.
final class KeyValueWriter {
    private struct Place: Hashable {
        let table: String
        let key: String
    }

    private let reader: DatabaseRecordReader
    private var connection: OpaquePointer? { reader.connection }
    private var path: String { reader.path }
    /// What the source has a value for.
    private var given: Set<Place> = []

    init(connection: OpaquePointer?, definition: AppDefinition, path: String) {
        reader = DatabaseRecordReader(connection: connection, definition: definition, path: path)
    }

    /// A value that is read the same already is not written: the app may spell it in another way, or leave a default out.
    func write(_ buffer: RecordBuffer, of object: ObjectDefinition) throws(BackupError) {
        guard let table = object.table else { return }
        let rows = try reader.keyValues(of: object)
        let present = try reader.object(object, creationTime: nil, schemaVersion: nil)
        for (index, field) in object.fields.enumerated() where field.source == .stored && field.isRestored {
            guard let value = Self.text(buffer, index, like: rows[field.column]) else { continue }
            given.insert(Place(table: table, key: field.column))
            if buffer.value(index) != present.value(index) { try write(value, for: field.column, in: table) }
        }
    }

    /// - Parameter old: the value that is there: an app whose flags are numbers gets a number again.
    private static func text(_ buffer: RecordBuffer, _ index: Int, like old: FieldValue?) -> String? {
        switch buffer.kind(index) {
        case .integer: return String(buffer.integer(index))
        case .real: return buffer.real(index).description
        case .boolean:
            let isNumber = old?.string == "0" || old?.string == "1"
            return buffer.boolean(index) ? (isNumber ? "1" : "true") : (isNumber ? "0" : "false")
        case .text: return String(decoding: buffer.bytes(index), as: UTF8.self)
        default: return nil
        }
    }

    /// The key need not be unique: each row of it gets the value.
    func write(_ value: String, for key: String, in table: String) throws(BackupError) {
        let row = RecordBuffer(fieldCount: 2)
        row.set(0, text: key)
        row.set(1, text: value)
        let name = quotedIdentifier(table)
        for sql in [
            "UPDATE \(name) SET \"value\" = ?2 WHERE \"key\" = ?1", "INSERT INTO \(name) (\"key\", \"value\") VALUES (?1, ?2)",
        ] {
            let statement = try DatabaseStatement(connection, sql, path: path)
            try statement.bind(1, text: row.bytes(0))
            try statement.bind(2, text: row.bytes(1))
            try withExtendedLifetime(row) { () throws(BackupError) in try statement.run() }
            if sqlite3_changes(connection) > 0 { return }
        }
    }

    /// Removes the stored keys of an object that the source had no value for. Keys that the definition does not name are in no export, so nothing could bring
    /// them back: they stay.
    /// - Throws: `notSupported` for a row that holds more than its value, which nothing could bring back either.
    func removeKeysNotGiven(of object: ObjectDefinition) throws(BackupError) {
        guard let table = object.table else { return }
        for field in object.fields
        where field.source == .stored && field.isRestored && !given.contains(Place(table: table, key: field.column)) {
            try requireNothingBesideValue(of: field.column, in: table)
            let statement = try DatabaseStatement(
                connection, "DELETE FROM \(quotedIdentifier(table)) WHERE \"key\" = ?1", path: path)
            try statement.run(with: field.column)
        }
    }

    /// A number that only tells rows apart is nothing to keep.
    private func requireNothingBesideValue(of key: String, in table: String) throws(BackupError) {
        let columns = try DatabaseStatement(
            connection,
            """
            SELECT name FROM pragma_table_xinfo(?1)
            WHERE hidden = 0 AND pk = 0 AND name COLLATE NOCASE NOT IN ('key', 'value') ORDER BY cid
            """, path: path)
        let parameter = RecordBuffer(fieldCount: 2)
        parameter.set(0, text: table)
        parameter.set(1, text: key)
        try columns.bind(1, text: parameter.bytes(0))
        try withExtendedLifetime(parameter) { () throws(BackupError) in
            while try columns.step() {
                let column = columns.text(0)
                let values = try DatabaseStatement(
                    connection,
                    "SELECT 1 FROM \(quotedIdentifier(table)) WHERE \"key\" = ?1 AND \(quotedIdentifier(column)) IS NOT NULL LIMIT 1",
                    path: path)
                try values.bind(1, text: parameter.bytes(1))
                guard try values.step() else { continue }
                throw BackupError(
                    .notSupported,
                    """
                    Import failed: the file has no value for \(key), whose row in the table \(table) also holds \
                    \(MessageText.shortened(column)), which a restore would lose
                    """, path: path,
                    remedy: "Nothing was changed. Remove the row in the app, and restore again.")
            }
        }
    }
}
