import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

/// Removes the values that must never leave the app's database from a copy of it.
enum DatabaseSecrets {
    /// Rewrites the copy: pages that SQLite has freed keep their content, and the app may have changed its secrets before.
    /// - Parameter path: a copy that no other connection has open, without a log.
    static func remove(_ rules: [SecretRule], from path: String) throws(BackupError) {
        guard !rules.isEmpty else { return }
        let clean = path + ".clean"
        // SQLite accepts an empty file, and would create one with the umask's mode.
        _ = try OwnedDescriptor.open(clean, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        do {
            try rewrite(path, rules, to: clean)
            try FileSystem.rename(clean, to: path)
        } catch {
            _ = unlink(clean)
            throw error
        }
    }

    private static func rewrite(_ path: String, _ rules: [SecretRule], to clean: String) throws(BackupError) {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
        sqlite3_exec(connection, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nil, nil, nil)
        // They belong to the app, and must not run here.
        DatabaseTriggers.disable(connection)
        let tables = DatabaseTables(connection: connection, path: path)
        for rule in rules where try tables.contains(rule.table) {
            let table = quotedIdentifier(rule.table)
            if let key = rule.key {
                try DatabaseStatement(connection, "DELETE FROM \(table) WHERE \"key\" = ?1", path: path).run(with: key)
            } else {
                try DatabaseStatement(connection, "DELETE FROM \(table)", path: path).run()
            }
        }
        try DatabaseStatement(connection, "VACUUM INTO ?1", path: path).run(with: clean)
    }
}
