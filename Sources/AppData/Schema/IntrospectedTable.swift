import BackupCore
import SystemIO

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

    /// How its rows are exported: every value exactly as in SQLite, in key order. If the key is not a single number, the row
    /// numbers are also exported, since indexes and full-text tables may refer to them.
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
            plural: "rows of \(name)", rules: MergeRules(identity: [0]))
    }
}

/// Derives the structure of an SQLite database, so that an app without a definition can be backed up: every table with its own
/// pages, including the shadow tables of virtual tables (full-text indexes). Derived content is left out: views, virtual tables
/// themselves, generated columns, statistics.
struct DatabaseIntrospection {
    let connection: OpaquePointer?
    let path: String

    /// The name of the member that describes the export itself.
    static let metadataName = "backupfs"

    /// - Returns: a collection for each table, in name order.
    func collections() throws(BackupError) -> [CollectionDefinition] {
        var collections: [CollectionDefinition] = []
        var taken: Set<String> = [Self.metadataName]
        for table in try tables() {
            var name = Self.wireName(table.name)
            while !taken.insert(name).inserted { name += "_" }
            collections.append(try table.collection(wireName: name))
        }
        return collections
    }

    private func tables() throws(BackupError) -> [IntrospectedTable] {
        // Sorted by bytes; last comes the table that SQLite itself writes when rows are inserted into others. An entry in
        // sqlite_schema without a page is that of a virtual table.
        let statement = try DatabaseStatement(
            connection,
            """
            SELECT l.name, l.wr FROM pragma_table_list AS l JOIN main.sqlite_schema AS s ON s.name = l.name AND s.type = 'table'
            WHERE l.schema = 'main' AND s.rootpage > 0 AND l.name <> '\(RestoreMarker.table)'
              AND (l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR l.name = 'sqlite_sequence')
            ORDER BY l.name = 'sqlite_sequence', l.name COLLATE BINARY
            """, path: path)
        var found: [(name: String, isWithoutRowID: Bool)] = []
        while try statement.step() { found.append((try statement.name(0, of: "a table"), statement.integer(1) != 0)) }
        var tables: [IntrospectedTable] = []
        for (name, isWithoutRowID) in found {
            let (columns, generated) = try columns(of: name)
            tables.append(
                IntrospectedTable(
                    name: name, isWithoutRowID: isWithoutRowID, columns: columns, generatedColumnNames: generated,
                    hasKeyIndex: try hasKeyIndex(name)))
        }
        return tables
    }

    private func columns(
        of table: String
    ) throws(BackupError) -> (stored: [IntrospectedTable.Column], generated: [String]) {
        let statement = try DatabaseStatement(connection, "PRAGMA main.table_xinfo(\(quotedIdentifier(table)))", path: path)
        var columns: [IntrospectedTable.Column] = []
        var generated: [String] = []
        // hidden is 2 or 3 for generated columns.
        while try statement.step() {
            guard statement.integer(6) == 0 else {
                generated.append(statement.text(1))
                continue
            }
            columns.append(
                IntrospectedTable.Column(
                    name: try statement.name(1, of: "a column of the table \(table)"), keyPosition: Int(statement.integer(5)),
                    declaredType: statement.text(2)))
        }
        return (columns, generated)
    }

    private func hasKeyIndex(_ table: String) throws(BackupError) -> Bool {
        let statement = try DatabaseStatement(connection, "PRAGMA main.index_list(\(quotedIdentifier(table)))", path: path)
        while try statement.step() { if statement.text(3) == "pk" { return true } }
        return false
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
