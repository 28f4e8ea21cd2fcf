import BackupCore

/// A table of an unknown database, as SQLite describes it.
struct IntrospectedTable {
    struct Column {
        let name: String
        /// Position in the primary key, from 1; 0 when it is not in it.
        let keyPosition: Int
        let declaredType: String
    }

    /// SQLite's names for the row number, unless a column has the name.
    static let rowNumberNames = ["rowid", "_rowid_", "oid"]

    let name: String
    let isWithoutRowID: Bool
    /// The stored columns: generated columns are derived from them.
    let columns: [Column]
    let generatedColumnNames: [String]
    /// Whether SQLite keeps an index for the primary key. A single INTEGER column without one is the row number itself.
    let hasKeyIndex: Bool

    /// The column that is an alias of the row number.
    private var rowNumberColumn: Column? {
        let key = columns.filter { $0.keyPosition > 0 }
        guard !isWithoutRowID, !hasKeyIndex, key.count == 1, key[0].declaredType.uppercased() == "INTEGER" else { return nil }
        return key[0]
    }

    /// - Parameter columns: all columns of a table, including generated ones.
    /// - Returns: a name for the row number that no column has.
    static func rowNumberName(notAmong columns: [String]) -> String? {
        let used = Set(columns.map(SchemaName.init))
        return rowNumberNames.first { !used.contains(SchemaName($0)) }
    }

    /// How its rows are exported: every value exactly as in SQLite, in key order. If the key is not a single number, the row numbers are also exported, since
    /// indexes and full-text tables may refer to them.
    /// - Parameter wireName: the collection's name on the wire.
    /// - Throws: `notSupported` when no name identifies its rows.
    func collection(wireName: String) throws(BackupError) -> CollectionDefinition {
        let rowNumber = rowNumberColumn
        var fields = columns.map { column in
            column.name == rowNumber?.name
                ? FieldDefinition(name: column.name, column: column.name, type: .integer)
                : FieldDefinition(name: column.name, column: column.name, type: .any, isRequired: false, isNullable: true)
        }
        // The key is the first field: so readers without the table's description can find it.
        if let index = fields.firstIndex(where: { $0.name == rowNumber?.name }) {
            fields.insert(fields.remove(at: index), at: 0)
        } else {
            if isWithoutRowID {
                let key = columns.filter { $0.keyPosition > 0 }.sorted { $0.keyPosition < $1.keyPosition }
                var keyName = "_key"
                while columns.contains(where: { $0.name == keyName }) { keyName = "_" + keyName }
                fields.insert(
                    FieldDefinition(name: keyName, column: "", type: .text, keyColumns: key.map(\.name)), at: 0)
            } else if let rowNumberName = Self.rowNumberName(notAmong: columns.map(\.name) + generatedColumnNames) {
                fields.insert(FieldDefinition(name: rowNumberName, column: rowNumberName, type: .integer), at: 0)
            } else {
                throw BackupError(
                    .notSupported, "the rows of the table \(name) cannot be named: it has columns called rowid, _rowid_ and oid",
                    remedy: "Describe the app in a definition of its own, with a key for this table.")
            }
        }
        return CollectionDefinition(
            name: wireName, table: name, fields: fields, keyIndex: 0, singular: "row of \(name)",
            plural: "rows of \(name)")
    }
}
