import BackupCore

extension AppDatabase {
    /// SQLite files can identify their application (`PRAGMA application_id`): a file of another application is refused. A file without an ID may belong to
    /// any application.
    /// - Throws: `invalidContent`.
    public func requireSameApplication(as dropped: DroppedDatabase) throws(BackupError) {
        guard let ours = try? read({ (connection) throws(BackupError) in try Self.applicationID(connection, path) }) else {
            return
        }
        var theirs: Int64 = 0
        try dropped.withConnection { (connection) throws(BackupError) in
            theirs = try Self.applicationID(connection, dropped.path)
        }
        guard ours != theirs, ours != 0, theirs != 0 else { return }
        throw BackupError(
            .invalidContent, ImportMessages.failure("the database is another application's"), path: dropped.path,
            findings: ["its application_id is \(theirs), that of the app's database \(ours)"])
    }

    private static func applicationID(_ connection: OpaquePointer?, _ path: String) throws(BackupError) -> Int64 {
        let statement = try DatabaseStatement(connection, "PRAGMA application_id", path: path)
        return try statement.step() ? statement.integer(0) : 0
    }
}
