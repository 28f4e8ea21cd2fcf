import BackupCore
import SystemIO

/// The mark that a restore leaves in the app's database, in the transaction of its records: after a crash it tells whether that had committed.
///
/// Several stores may be there for one database. As long as the restore of one is not finished, the mark keeps the others from changing the data:
/// its media may not be in place yet.
public struct RestoreMarker: Sendable, Equatable {
    static let table = "backupfs_restore_marker"

    /// As in the journal.
    public let operation: String
    /// Where the journal of the restore lies, in the store that made it; `nil` in marks of older versions.
    public let journalPath: String?

    public init(operation: String, journalPath: String?) {
        self.operation = operation
        self.journalPath = journalPath
    }

    /// - Returns: `nil` when there is none.
    static func read(_ connection: OpaquePointer?, path: String) throws(BackupError) -> RestoreMarker? {
        let columns = try DatabaseStatement(connection, "SELECT name FROM pragma_table_info('\(table)')", path: path)
        var names: [String] = []
        while try columns.step() { names.append(columns.text(0)) }
        guard names.contains("id") else { return nil }
        let hasJournal = names.contains("journal")
        let statement = try DatabaseStatement(
            connection, "SELECT id, \(hasJournal ? "journal" : "''") FROM \(table)", path: path)
        guard try statement.step() else { return nil }
        let journal = statement.text(1)
        return RestoreMarker(operation: statement.text(0), journalPath: journal.isEmpty ? nil : journal)
    }

    /// Leaves it in the app's database, in the place of one whose restore has ended.
    /// - Throws: `busy` as `requireFinished`.
    func leaveIfOthersHaveFinished(_ connection: OpaquePointer?, path: String) throws(BackupError) {
        try Self.read(connection, path: path)?.requireFinished(ownJournalPath: journalPath, path: path)
        try leave(connection, path: path)
    }

    /// In the place of one that is there.
    func leave(_ connection: OpaquePointer?, path: String) throws(BackupError) {
        for sql in ["DROP TABLE IF EXISTS \(Self.table)", "CREATE TABLE \(Self.table) (id TEXT, journal TEXT)"] {
            try DatabaseStatement(connection, sql, path: path).run()
        }
        try DatabaseStatement(connection, "INSERT INTO \(Self.table) (id) VALUES (?1)", path: path).run(with: operation)
        guard let journalPath else { return }
        try DatabaseStatement(connection, "UPDATE \(Self.table) SET journal = ?1", path: path).run(with: journalPath)
    }

    /// For a store whose own journal is `ownJournalPath`.
    /// - Throws: `busy` for the mark of another store whose restore is not finished, or may not be: that store cannot be looked at.
    func requireFinished(ownJournalPath: String?, path: String) throws(BackupError) {
        guard let journalPath, journalPath != ownJournalPath, mayBeUnfinished(journalPath) else { return }
        let store = FileSystem.parentPath(journalPath)
        let opening = ShellWords.text(of: ["backupfs", "status", "--store", store])
        let forgetting = ShellWords.text(of: ["sqlite3", path, "DROP TABLE \(Self.table)"])
        throw BackupError(
            .busy, "a restore by another store is not finished: \(MessageText.shortened(store))", path: path,
            remedy: "Wait for it, or open that store: \(opening). If it is gone for good: \(forgetting)")
    }

    /// A journal that is gone from a store that is there belongs to a restore that has ended.
    private func mayBeUnfinished(_ journalPath: String) -> Bool {
        do {
            return try FileSystem.exists(journalPath) || !FileSystem.exists(FileSystem.parentPath(journalPath))
        } catch {
            return true
        }
    }
}
