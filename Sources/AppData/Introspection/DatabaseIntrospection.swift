import BackupCore
import SystemIO

/// Derives the structure of an SQLite database, so that an app without a definition can be backed up: every table with its own pages, including the shadow
/// tables of virtual tables (full-text indexes). Derived content is left out: views, virtual tables themselves, generated columns, statistics.
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
        // Sorted by bytes; last comes the table that SQLite itself writes when rows are inserted into others. An entry in sqlite_schema without a page is that
        // of a virtual table.
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

    /// A table's name on the wire, which is also a file name (`data/NAME.json`): bytes that cannot be in one are written as `%` and two hexadecimal digits.
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
