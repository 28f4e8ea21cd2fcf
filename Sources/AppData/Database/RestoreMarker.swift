import BackupCore

/// The mark that a restore leaves in the app's database, in the transaction of its records: after a crash it tells whether that had committed.
enum RestoreMarker {
    static let table = "backupfs_restore_marker"

    static func leave(_ marker: String, _ connection: OpaquePointer?, path: String) throws(BackupError) {
        for sql in ["DROP TABLE IF EXISTS \(table)", "CREATE TABLE \(table) (id TEXT)"] {
            try DatabaseStatement(connection, sql, path: path).run()
        }
        try DatabaseStatement(connection, "INSERT INTO \(table) (id) VALUES (?1)", path: path).run(with: marker)
    }
}
