import AppData
import BackupCore
import SystemIO

/// Finishes or undoes a restore that a crash interrupted. It may itself be interrupted at any point and run again.
public enum RestoreRecovery {
    /// What the recovery did.
    public enum Outcome: Sendable, Equatable {
        /// The database had committed: the restore was finished.
        case completed
        /// It had not committed: everything is as before the restore.
        case undone
    }

    /// What was recovered.
    public struct Result: Sendable {
        public let outcome: Outcome
        /// The dropped file's name.
        public let fileName: String
        /// The backup of the data before the restore; `nil` when there is none.
        public let safetySnapshot: SnapshotID?
        public let strategy: ImportStrategy
        /// What is left to remove.
        public let end: RestoreCleanup
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
        var end = RestoreCleanup()
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
            if journal.mayHaveBegun { try database.overwriteFailedCommit() }
            if let media = journal.media { end.keptMediaPath = try MediaExchange.undo(media) }
        }
        return Result(
            outcome: hasCommitted ? .completed : .undone, fileName: journal.fileName, safetySnapshot: journal.safetySnapshot,
            strategy: journal.strategy, end: end)
    }

    /// Whether a restore is running, or was interrupted, that may have written the records but not all media. True if the journal
    /// cannot be read.
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

/// The leftovers of a restore after which the data is entirely new or entirely old.
public struct RestoreCleanup: Sendable {
    /// A folder with media that the restore has taken out of the media folder and that are in no backup.
    public internal(set) var keptMediaPath: String?
    /// The folder in it with logs that could not be moved to their databases; `nil` when there are none.
    var separatedLogsPath: String? {
        guard let keptMediaPath else { return nil }
        let path = "\(keptMediaPath)/\(MediaUnit.separatedName)"
        return (try? FileSystem.exists(path)) == true ? path : nil
    }
    /// Why the replaced files could not be removed. The next start removes them.
    public internal(set) var leftover: BackupError?

    /// Removes what a completed restore has replaced.
    /// - Parameter moved: the files that it has moved out of the folder.
    mutating func clear(_ journal: RestoreJournal, _ savedMedia: SavedMedia, _ moved: MovedMedia = MovedMedia()) {
        guard let media = journal.media else { return }
        do throws(BackupError) {
            keptMediaPath = try MediaExchange.removeReplaced(
                media, isSaved: savedMedia.check(journal.safetySnapshot), moved: moved)
        } catch {
            leftover = error
        }
    }
}

extension BackupError {
    /// The same error, with the folder to which an undo has moved files of the app.
    public func telling(ofKeptMedia path: String?) -> BackupError {
        guard let path else { return self }
        return with(nil, "\(message); media files that were in the way when the old ones came back were kept in \(path)")
    }
}
