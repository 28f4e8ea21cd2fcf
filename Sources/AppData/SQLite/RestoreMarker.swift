import BackupCore
import SQLite
import SystemIO

/// The marker that a restore writes into the app's database, in the transaction of its records: after a crash it shows whether
/// that had committed.
///
/// There may be several stores for one database. While the restore of one is unfinished, the marker keeps the others from
/// changing the data: its media may not be in place yet.
public struct RestoreMarker: Sendable, Equatable {
    static let table = "backupfs_restore_marker"

    /// As in the journal.
    public let operation: String
    /// The path of the restore's journal, in the store that ran it; `nil` in markers of older versions.
    public let journalPath: String?

    public init(operation: String, journalPath: String?) {
        self.operation = operation
        self.journalPath = journalPath
    }

    /// - Returns: `nil` when there is none.
    static func read(_ connection: DatabaseConnection) throws(BackupError) -> RestoreMarker? {
        let names = try DatabaseSchema.columns(of: table, connection).map(\.name.text)
        guard names.contains("id") else { return nil }
        let hasJournal = names.contains("journal")
        let statement = try connection.statement("SELECT id, \(hasJournal ? "journal" : "''") FROM \(table)")
        guard try statement.step() else { return nil }
        let journal = statement.text(1)
        return RestoreMarker(operation: statement.text(0), journalPath: journal.isEmpty ? nil : journal)
    }

    /// Writes it into the app's database, replacing a marker whose restore has ended.
    /// - Throws: `busy`, like `requireFinished`.
    func leaveIfOthersHaveFinished(_ connection: DatabaseConnection) throws(BackupError) {
        try Self.read(connection)?.requireFinished(ownJournalPath: journalPath, path: connection.path)
        try leave(connection)
    }

    /// Replaces an existing one.
    func leave(_ connection: DatabaseConnection) throws(BackupError) {
        for sql in ["DROP TABLE IF EXISTS \(Self.table)", "CREATE TABLE \(Self.table) (id TEXT, journal TEXT)"] {
            try connection.run(sql)
        }
        try connection.run("INSERT INTO \(Self.table) (id) VALUES (?1)", operation)
        guard let journalPath else { return }
        try connection.run("UPDATE \(Self.table) SET journal = ?1", journalPath)
    }

    /// For a store whose own journal is `ownJournalPath`.
    /// - Throws: `busy` for the marker of another store whose restore is unfinished, or may be unfinished since that store cannot
    ///   be read.
    func requireFinished(ownJournalPath: String?, path: String) throws(BackupError) {
        guard let journalPath, journalPath != ownJournalPath, mayBeUnfinished(journalPath) else { return }
        let store = FileSystem.parentPath(journalPath)
        let opening = ShellWords.text(of: ["backupfs", "status", "--store", store])
        let forgetting = ShellWords.text(of: ["sqlite3", path, "DROP TABLE \(Self.table)"])
        throw BackupError(
            .busy, "a restore by another store is not finished: \(MessageText.shortened(store))", path: path,
            remedy: "Wait for it, or open that store: \(opening). If it is gone for good: \(forgetting)")
    }

    /// If a store exists but its journal does not, the restore has ended.
    private func mayBeUnfinished(_ journalPath: String) -> Bool {
        do {
            return try FileSystem.exists(journalPath) || !FileSystem.exists(FileSystem.parentPath(journalPath))
        } catch {
            return true
        }
    }
}
