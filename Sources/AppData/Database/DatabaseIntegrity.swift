import BackupCore

extension DroppedDatabase {
    /// Checks a copy of a database as a restore of it would, and that no index lacks rows of its table.
    /// - Parameter path: a file that no other connection has open, without a log.
    /// - Returns: the first problem, in SQLite's words; `nil` when there is none.
    public static func damage(ofCopy path: String) throws(BackupError) -> String? {
        var problem: String?
        do throws(BackupError) {
            try withConnection(to: path, acceptsUnknownCollations: true) { (connection) throws(BackupError) in
                problem = try firstProblem(connection, path: path)
                guard problem == nil else { return }
                problem = try IndexCheck(tables: DatabaseTables(connection: connection, path: path)).problem()
            }
        } catch {
            guard error.code == .damagedContent else { throw error }
            problem = error.message.english
        }
        return problem
    }

    /// Rows that violate a CHECK are the app's own, and not damage.
    static func firstProblem(_ connection: OpaquePointer?, path: String) throws(BackupError) -> String? {
        try IntegrityCheck(.quick, of: DatabaseTables(connection: connection, path: path)).problems(limit: 1).first
    }

    /// Makes SQLite check every page, index and row (`PRAGMA integrity_check`).
    /// - Parameter limit: the number of problems after which it stops.
    /// - Returns: the problems, in SQLite's words; empty when there are none.
    /// - Throws: `damagedContent` when it cannot be read at all.
    public func integrityProblems(limit: Int) throws(BackupError) -> [String] {
        var problems: [String] = []
        try withConnection { connection throws(BackupError) in
            let tables = DatabaseTables(connection: connection, path: path)
            problems = try IntegrityCheck(.full, of: tables).problems(limit: limit)
        }
        return problems
    }

    /// The rows with dangling references, at most `limit` of them.
    public func danglingReferences(limit: Int) throws(BackupError) -> [String] {
        var found: [String] = []
        try withConnection { connection throws(BackupError) in
            try DanglingReferences.forEach(in: DatabaseTables(connection: connection, path: path)) { keys in
                guard found.count < limit else { return }
                found.append(
                    "row \(keys.text(1)) of the table \(keys.text(0)) refers to a row of \(keys.text(2)) that is not there")
            }
        }
        return found
    }
}
