import AppData
import BackupCore
import SystemIO

/// Finishes or undoes a restore that a crash interrupted. It may itself be interrupted at any point and run again.
public enum RestoreRecovery {
    public enum Outcome: Sendable, Equatable {
        /// The database had committed: the restore was finished.
        case completed
        /// It had not committed: everything is as before the restore.
        case undone
    }

    public struct Result: Sendable {
        public let outcome: Outcome
        /// The dropped file's name.
        public let fileName: String
        public let safetySnapshot: SnapshotID?
        public let strategy: ImportStrategy
        public let end: RestoreEnd
    }

    /// - Parameter savedMedia: knows which replaced media the safety backup holds.
    /// - Returns: `nil` when there was nothing to recover.
    /// - Throws: `databaseInUse` when the app holds a lock on its database; it can be retried.
    public static func run(
        journalPath: String, database: AppDatabase, savedMedia: SavedMedia
    ) throws(BackupError) -> Result? {
        guard var journal = try RestoreJournal.read(journalPath) else { return nil }
        let hasCommitted: Bool
        switch journal.state {
        case .published: hasCommitted = true
        case .prepared: hasCommitted = try database.restoreMarker()?.operation == journal.operation
        }
        var end = RestoreEnd()
        if hasCommitted {
            // Published media stay published, whatever the app has done with its folder since.
            if journal.state == .prepared {
                try MediaExchange.synchronizeCommit(of: database)
                if let media = journal.media { try MediaExchange.publish(media, database) }
                journal.state = .published
                try journal.write(to: journalPath)
            }
            // First remove what may fill the disk.
            end.clear(journal, savedMedia)
            try database.removeRestoreMarker(of: journal.operation)
        } else {
            // Before the media that belong to it are removed.
            if journal.mayHaveBegun { try database.settle() }
            if let media = journal.media { end.keptMediaPath = try MediaExchange.undo(media) }
        }
        return Result(
            outcome: hasCommitted ? .completed : .undone, fileName: journal.fileName, safetySnapshot: journal.safetySnapshot,
            strategy: journal.strategy, end: end)
    }

    /// Whether a restore is running, or was interrupted, that may have written the records but not all media. True if the journal cannot be read.
    public static func isUnderWay(journalPath: String) -> Bool {
        do throws(BackupError) {
            guard let journal = try RestoreJournal.read(journalPath) else { return false }
            return journal.state == .prepared && journal.mayHaveBegun
        } catch {
            return true
        }
    }

    /// The last step, after the outcome has been reported: removes the journal.
    public static func forget(journalPath: String) throws(BackupError) {
        try FileSystem.removeFile(journalPath)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(journalPath))
    }
}
