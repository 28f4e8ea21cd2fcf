import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

/// Takes what never leaves the app's database out of a copy of it.
enum DatabaseSecrets {
    /// The copy is written anew: pages that SQLite has freed keep what was on them, and the app may have changed its secrets before.
    /// - Parameter path: a copy that nobody else has open, without a log.
    static func remove(_ rules: [SecretRule], from path: String) throws(BackupError) {
        guard !rules.isEmpty else { return }
        let clean = path + ".clean"
        // SQLite takes an empty file, and would make one with the umask's mode.
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
        // They are the app's, and nothing happens here.
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
