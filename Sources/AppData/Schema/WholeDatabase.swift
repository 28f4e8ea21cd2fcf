import BackupCore
import SQLite
import SystemIO

/// Derives the structure of an SQLite database, so that an app without a definition can be backed up: every table with its own
/// pages, including the shadow tables of virtual tables (full-text indexes). Derived content is left out: views, virtual tables
/// themselves, generated columns, statistics.
struct WholeDatabase {
    private let schema: DatabaseSchema
    private let withoutRowID: Set<SchemaName>

    /// The name of the member that describes the export itself.
    static let metadataName = "backupfs"

    init(_ connection: DatabaseConnection) throws(BackupError) {
        schema = try DatabaseSchema.read(connection)
        withoutRowID = try schema.kinds().withoutRowID
    }

    /// - Returns: a collection for each table, in name order; last comes the one that SQLite itself writes.
    func collections() throws(BackupError) -> [CollectionDefinition] {
        var collections: [CollectionDefinition] = []
        var taken: Set<String> = [Self.metadataName]
        let tables = schema.tables.filter(\.isExportedWhole)
        for table in tables { _ = try table.name.valid("a table", path: schema.path) }
        for table in tables.filter({ !$0.isSequence }) + tables.filter(\.isSequence) {
            var name = Self.wireName(table.name.text)
            while !taken.insert(name).inserted { name += "_" }
            collections.append(try collection(of: table, wireName: name))
        }
        return collections
    }

    /// How its rows are exported: every value exactly as in SQLite, in key order. If the key is not a single number, the row
    /// numbers are also exported, since indexes and full-text tables may refer to them.
    /// - Parameter wireName: the collection's name on the wire.
    /// - Throws: `notSupported` when no name identifies its rows.
    private func collection(of table: DatabaseSchema.Table, wireName: String) throws(BackupError) -> CollectionDefinition {
        let name = table.name.text
        var columns: [(name: String, column: DatabaseSchema.Column)] = []
        for column in table.columns where column.isStored {
            columns.append((try column.name.valid("a column of the table \(name)", path: schema.path), column))
        }
        let key = columns.filter { $0.column.keyPosition > 0 }.sorted { $0.column.keyPosition < $1.column.keyPosition }
        let isWithoutRowID = withoutRowID.contains(SchemaName(name))
        let rowNumberColumn = try schema.rowNumberColumn(of: table)
        let isKeyRowNumber = !isWithoutRowID && rowNumberColumn != nil
        let rowNumber = isKeyRowNumber ? key[0].name : nil
        var fields = columns.map { column in
            column.name == rowNumber
                ? FieldDefinition(name: column.name, column: column.name, type: .integer)
                : FieldDefinition(name: column.name, column: column.name, type: .any, isRequired: false, isNullable: true)
        }
        // The key is the first field: so readers without the table's description can find it.
        if let index = fields.firstIndex(where: { $0.name == rowNumber }) {
            fields.insert(fields.remove(at: index), at: 0)
        } else {
            if isWithoutRowID {
                var keyName = "_key"
                while columns.contains(where: { $0.name == keyName }) { keyName = "_" + keyName }
                fields.insert(
                    FieldDefinition(name: keyName, column: "", type: .text, keyColumns: key.map(\.name)), at: 0)
            } else if let rowNumberName = DatabaseSchema.rowNumberName(notAmong: table.columns) {
                fields.insert(FieldDefinition(name: rowNumberName, column: rowNumberName, type: .integer), at: 0)
            } else {
                throw BackupError(
                    .notSupported, "the rows of the table \(name) cannot be named: it has columns called rowid, _rowid_ and oid",
                    remedy: "Describe the app in a definition of its own, with a key for this table.")
            }
        }
        return CollectionDefinition(
            name: wireName, table: name, fields: fields, keyIndex: 0, singular: "row of \(name)",
            plural: "rows of \(name)", rules: MergeRules(identity: [0]))
    }

    /// A table's name on the wire, which is also a file name (`data/NAME.json`): bytes that cannot be in one are written as `%`
    /// and two hexadecimal digits.
    private static func wireName(_ table: String) -> String {
        // A control character would be written differently in the export and in the file name, and breaks lists of names.
        let isPlain = !table.utf8.contains { $0 == UInt8(ascii: "%") || $0 < 0x20 || $0 == 0x7F }
        guard !isPlain || !FileName("\(table).json").isSafeComponent else { return table }
        var name = ""
        for byte in table.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, 45, 95: name.unicodeScalars.append(Unicode.Scalar(byte))
            default: name += "%" + Hexadecimal.encode([byte])
            }
        }
        // It is also the file's name.
        guard name.utf8.count > wireNameLimitBytes else { return name }
        let digest = SHA256Hasher.hash(Array(table.utf8)).hexadecimal.prefix(16)
        return "\(name.prefix(wireNameLimitBytes - 20))%%\(digest)"
    }

    private static let wireNameLimitBytes = 200
}
