import BackupCore

extension DroppedDatabase {
    /// Lets SQLite look at every page, index and row (`PRAGMA integrity_check`), and at every foreign key, which a restore would check as well.
    /// - Parameter limit: problems after which it stops looking for more.
    /// - Returns: what is wrong, in SQLite's words; nothing when nothing is.
    /// - Throws: `damagedContent` when it cannot be read at all.
    public func integrityProblems(limit: Int) throws(BackupError) -> [String] {
        var problems: [String] = []
        try withConnection { connection throws(BackupError) in
            let pages = try DatabaseStatement(connection, "PRAGMA integrity_check(\(limit))", path: path)
            while try pages.step() {
                let text = pages.text(0)
                if text != "ok" { problems.append(text) }
            }
            let keys = try DatabaseStatement(connection, "PRAGMA foreign_key_check", path: path)
            while problems.count < limit, try keys.step() {
                problems.append(
                    "row \(keys.text(1)) of the table \(keys.text(0)) refers to a row of \(keys.text(2)) that is not there")
            }
        }
        return problems
    }
}
