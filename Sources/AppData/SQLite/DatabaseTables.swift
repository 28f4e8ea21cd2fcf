import BackupCore
import GRDBSQLite
import Glibc

/// The tables of an open database. Views, virtual tables and generated columns do not count: reading them would run foreign code.
struct DatabaseTables {
    let connection: OpaquePointer?
    let path: String

    /// Tables with data of the app: not SQLite's own tables, and not those of this program and its libraries.
    func names() throws(BackupError) -> [String] {
        // A virtual table has no pages of its own.
        let statement = try DatabaseStatement(
            connection,
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            path: path)
        var names: [String] = []
        while try statement.step() { names.append(statement.text(0)) }
        return names.filter { $0 != RestoreMarker.table && $0 != "grdb_migrations" }
    }

    func contains(_ name: String) throws(BackupError) -> Bool {
        let statement = try DatabaseStatement(
            connection, "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?1", path: path)
        return try withBoundText(name, statement) { () throws(BackupError) in
            try statement.step() && statement.integer(0) > 0
        }
    }

    /// Not a set of texts: Swift may consider two of them equal (`SchemaName`).
    func columns(of table: String, withGenerated: Bool = false) throws(BackupError) -> [String] {
        let statement = try DatabaseStatement(connection, "PRAGMA table_xinfo(\(quotedIdentifier(table)))", path: path)
        var names: [String] = []
        while try statement.step() {
            if withGenerated || statement.integer(6) == 0 { names.append(statement.text(1)) }
        }
        return names
    }

    /// Whether SQL can name a column by its name as read: not if it is not UTF-8, and SQLite may treat an unknown quoted name as
    /// a text.
    static func canName(_ column: String) -> Bool { !column.unicodeScalars.contains("\u{FFFD}") }

    func canNameColumns(of table: String) throws(BackupError) -> Bool { try columns(of: table).allSatisfy(Self.canName) }

    /// Runs `body` without CHECK constraints: rows that an app wrote in violation of them, or before it had them, are its own.
    func withoutChecks<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let pragma = "PRAGMA ignore_check_constraints"
        try DatabaseStatement(connection, "\(pragma) = ON", path: path).run()
        let result: Result
        do throws(BackupError) {
            result = try body()
        } catch {
            try? DatabaseStatement(connection, "\(pragma) = OFF", path: path).run()
            throw error
        }
        try DatabaseStatement(connection, "\(pragma) = OFF", path: path).run()
        return result
    }

    private func withBoundText<Result>(
        _ text: String, _ statement: DatabaseStatement, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let buffer = RecordBuffer(fieldCount: 1)
        buffer.set(0, text: text)
        try statement.bind(1, text: buffer.bytes(0))
        return try withExtendedLifetime(buffer) { () throws(BackupError) in try body() }
    }
}

/// The name of a table or column as SQLite compares it: by its bytes, ignoring the case of ASCII letters. Swift considers texts
/// equal that differ only in Unicode normalisation.
struct SchemaName: Hashable, Sendable {
    private let bytes: [UInt8]

    init(_ name: String) { bytes = name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 } }
}

/// The key of a row of a table WITHOUT ROWID as one text: the columns of its primary key as SQL literals (`quote`), separated by
/// commas. It is unique within a table. It is exported and compared, and never parsed back into columns.
///
/// A text that `quote` would truncate (at a NUL) or that is not valid elsewhere (not UTF-8, or UTF-16 with half a character) is
/// written as a cast blob.
enum RowKey {
    private static let functionName = "backupfs_text_literal"
    /// The functions that the expression calls: they change nothing and read only their arguments.
    static let functionNames: Set = ["quote", "typeof", functionName]

    /// An expression for statements on this connection.
    static func expression(_ columns: [String], on connection: OpaquePointer?) -> String {
        // An existing function is replaced, but stays in place while a statement uses it.
        sqlite3_create_function_v2(
            connection, functionName, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
            { context, _, values in
                guard let values else { return }
                RowKey.literal(context, text: values[0], bytes: values[1])
            }, nil, nil, nil)
        let parts = columns.map { name in
            let column = quotedIdentifier(name)
            let text = "\(functionName)(\(column), CAST(\(column) AS BLOB))"
            return "CASE typeof(\(column)) WHEN 'text' THEN \(text) ELSE quote(\(column)) END"
        }
        return "(" + parts.joined(separator: " || ',' || ") + ")"
    }

    /// - Parameters:
    ///   - text: as UTF-8, where half a character has become U+FFFD.
    ///   - bytes: of the text in the database's own encoding.
    private static func literal(_ context: OpaquePointer?, text: OpaquePointer?, bytes: OpaquePointer?) {
        // In this order: later calls may convert the value.
        let start = UnsafeRawPointer(sqlite3_value_text(text))
        let characters = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(text)))
        let stored = UnsafeRawBufferPointer(start: sqlite3_value_blob(bytes), count: Int(sqlite3_value_bytes(bytes)))
        var literal: [UInt8] = []
        if isExact(characters, stored) {
            literal.reserveCapacity(characters.count + 2)
            literal.append(quote)
            for byte in characters {
                if byte == quote { literal.append(quote) }
                literal.append(byte)
            }
            literal.append(quote)
        } else {
            literal = Array("CAST(X'\(Hexadecimal.encode(Array(stored)))' AS TEXT)".utf8)
        }
        // SQLITE_TRANSIENT, a cast in C.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        literal.withUnsafeBytes { buffer in
            sqlite3_result_text64(
                context, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(buffer.count), copies, UInt8(SQLITE_UTF8)
            )
        }
    }

    private static let quote = UInt8(ascii: "'")

    private static func isExact(_ characters: UnsafeRawBufferPointer, _ stored: UnsafeRawBufferPointer) -> Bool {
        if characters.contains(0) { return false }
        guard !characters.allSatisfy({ $0 < 0x80 }) else { return true }
        guard let text = String(validating: characters, as: UTF8.self) else { return false }
        // In UTF-8 the bytes are the same, and a U+FFFD was written by the app.
        return characters.elementsEqual(stored) || !text.unicodeScalars.contains("\u{FFFD}")
    }
}

/// Databases may use collations that only their app knows (`COLLATE unicase`). SQLite refuses any statement that touches such a
/// table unless the collation is defined. For reading and counting rows any order suffices, so it is defined as byte order.
/// Nothing is written with it, since the app would find the indexes out of order.
enum UnknownCollations {
    /// For a read-only connection.
    static func accept(on connection: OpaquePointer?) {
        sqlite3_collation_needed(connection, nil) { _, connection, _, name in
            // In a UTF-16 database SQLite also asks for its own collations before it uses the UTF-8 ones.
            guard let name, !UnknownCollations.isOwn(name) else { return }
            sqlite3_create_collation_v2(
                connection, name, SQLITE_UTF8, nil,
                { _, firstCount, first, secondCount, second in
                    let count = Int(min(firstCount, secondCount))
                    if count > 0, let first, let second {
                        let order = memcmp(first, second, count)
                        if order != 0 { return order }
                    }
                    return firstCount - secondCount
                }, nil)
        }
    }

    private static func isOwn(_ name: UnsafePointer<CChar>) -> Bool {
        ownNames.contains { sqlite3_stricmp(name, $0) == 0 }
    }

    private static let ownNames = ["BINARY", "NOCASE", "RTRIM"]

    /// A collation that the database's indexes use and SQLite does not know.
    static func first(in connection: OpaquePointer?, path: String) throws(BackupError) -> String? {
        let statement = try DatabaseStatement(
            connection,
            """
            SELECT x.coll FROM main.sqlite_schema AS s JOIN pragma_index_xinfo(s.name) AS x
            WHERE s.type = 'index' AND x.coll IS NOT NULL AND upper(x.coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM') LIMIT 1
            """, path: path)
        return try statement.step() ? statement.text(0) : nil
    }
}
