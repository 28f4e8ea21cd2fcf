import BackupCore
import CSQLite
import Glibc

/// The key of a row of a table WITHOUT ROWID as one text: the columns of its primary key as SQL literals (`quote`), separated by
/// commas. It is unique within a table. It is exported and compared, and never parsed back into columns.
///
/// A text that `quote` would truncate (at a NUL) or that is not valid elsewhere (not UTF-8, or UTF-16 with half a character) is
/// written as a cast blob.
package enum RowKey {
    private static let functionName = "backupfs_text_literal"
    /// The functions that the expression calls: they change nothing and read only their arguments.
    fileprivate static let functionNames: Set = ["quote", "typeof", functionName]

    /// An expression for statements on this connection.
    package static func expression(_ columns: [String], on connection: DatabaseConnection) -> String {
        // An existing function is replaced, but stays in place while a statement uses it.
        sqlite3_create_function_v2(
            connection.handle, functionName, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
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
        literal.withUnsafeBytes { buffer in
            sqlite3_result_text64(
                context, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(buffer.count), DatabaseStatement.copies,
                UInt8(SQLITE_UTF8)
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
package enum UnknownCollations {
    /// Collations of GRDB, a library that many apps use. Its databases are read even without a whole one.
    private static let ofGRDB = [
        "swiftCompare", "swiftCaseInsensitiveCompare", "swiftLocalizedCaseInsensitiveCompare", "swiftLocalizedCompare",
        "swiftLocalizedStandardCompare",
    ]
    private static let ownNames = ["BINARY", "NOCASE", "RTRIM"]

    /// For a read-only connection: accepts those of a library that many apps use.
    package static func acceptWellKnown(on connection: DatabaseConnection) {
        for name in ofGRDB { add(name, to: connection.handle) }
    }

    /// For a read-only connection.
    package static func accept(on connection: DatabaseConnection) {
        sqlite3_collation_needed(connection.handle, nil) { _, connection, _, name in
            // In a UTF-16 database SQLite also asks for its own collations before it uses the UTF-8 ones.
            guard let name, !UnknownCollations.ownNames.contains(where: { sqlite3_stricmp(name, $0) == 0 }) else { return }
            UnknownCollations.add(name, to: connection)
        }
    }

    private static func add(_ name: UnsafePointer<CChar>, to connection: OpaquePointer?) {
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

extension DatabaseConnection {
    /// Allows only reading: no pragma, no attached file, no function except those of `RowKey`.
    package func allowOnlyReading() {
        sqlite3_set_authorizer(
            handle,
            { _, action, _, name, _, _ in
                switch action {
                case SQLITE_SELECT, SQLITE_READ: return SQLITE_OK
                case SQLITE_FUNCTION:
                    guard let name, RowKey.functionNames.contains(String(cString: name)) else { return SQLITE_DENY }
                    return SQLITE_OK
                default: return SQLITE_DENY
                }
            }, nil)
    }

    /// The tables that triggers would write to if these statements ran, by trigger. None is run: SQLite names the tables when it
    /// prepares them. Skips a statement that it cannot prepare.
    package func tablesWrittenByTriggers(in statements: [String]) -> [String: Set<String>] {
        final class Writes { var found: [String: Set<String>] = [:] }
        let writes = Writes()
        sqlite3_set_authorizer(
            handle,
            { context, action, table, _, _, trigger in
                guard [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action), let context, let table, let trigger else {
                    return SQLITE_OK
                }
                Unmanaged<Writes>.fromOpaque(context).takeUnretainedValue()
                    .found[String(cString: trigger), default: []].insert(String(cString: table))
                return SQLITE_OK
            }, Unmanaged.passUnretained(writes).toOpaque())
        for sql in statements {
            var statement: OpaquePointer?
            sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
            sqlite3_finalize(statement)
        }
        sqlite3_set_authorizer(handle, nil, nil)
        return withExtendedLifetime(writes) { writes.found }
    }
}
