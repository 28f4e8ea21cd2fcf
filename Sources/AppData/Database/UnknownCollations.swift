import BackupCore
import GRDBSQLite
import Glibc

/// Databases may order texts in a way that only their app knows (`COLLATE unicase`). SQLite refuses any statement that touches such a table, unless it
/// is given the order. For reading rows and counting them any order will do, so it is given that of the bytes; nothing is written with it, which would
/// leave indexes that the app finds out of order.
enum UnknownCollations {
    /// For a connection that only reads.
    static func accept(on connection: OpaquePointer?) {
        sqlite3_collation_needed(connection, nil) { _, connection, _, name in
            // In a database in UTF-16 SQLite asks for its own orders as well, before it takes them from UTF-8.
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

    /// An order that the database's indexes have and SQLite does not know.
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
