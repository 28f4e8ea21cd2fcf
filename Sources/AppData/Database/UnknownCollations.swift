import BackupCore
import GRDBSQLite
import Glibc

/// Databases may use collations that only their app knows (`COLLATE unicase`). SQLite refuses any statement that touches such a table unless the collation
/// is defined. For reading and counting rows any order suffices, so it is defined as byte order. Nothing is written with it, since the app would find the
/// indexes out of order.
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
