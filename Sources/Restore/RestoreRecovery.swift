import AppData
import BackupCore
import SystemIO

/// Finishes or undoes a restore that a crash interrupted. It may be interrupted itself, at any point, and run again.
public enum RestoreRecovery {
    public enum Outcome: Sendable, Equatable {
        /// The database had committed: the restore was finished.
        case completed
        /// It had not: everything is as it was before the restore.
        case undone
    }

    public struct Result: Sendable {
        public let outcome: Outcome
        /// The dropped file's name.
        public let fileName: String
        public let safetySnapshot: SnapshotID?
        public let strategy: ImportStrategy
        /// A folder with media that are in no backup, which the restore has taken out of the media folder.
        public let keptMediaPath: String?
    }

    /// - Parameter savedMedia: tells what the safety backup holds of the media that the restore has replaced.
    /// - Returns: `nil` when there was nothing to recover.
    /// - Throws: `busy` when the app holds its database locked; then nothing was changed and it can be tried again.
    public static func run(
        journalPath: String, database: AppDatabase, savedMedia: SavedMedia
    ) throws(BackupError) -> Result? {
        guard var journal = try RestoreJournal.read(journalPath) else { return nil }
        let hasCommitted: Bool
        switch journal.state {
        case .published: hasCommitted = true
        case .prepared: hasCommitted = try database.restoreMarker()?.operation == journal.operation
        }
        if hasCommitted {
            // What is published stays published, whatever the app has done with its folder since.
            if journal.state == .prepared {
                if let media = journal.media {
                    try MediaExchange.publish(media, DatabaseAmongMedia(database: database.path, media: media.path))
                }
                journal.state = .published
                try journal.write(to: journalPath)
            }
            try database.removeRestoreMarker(of: journal.operation)
        } else if journal.mayHaveBegun {
            // Before the media go that belong to it.
            try database.settle()
        }
        var kept: String?
        if let media = journal.media {
            kept = try MediaExchange.removeStaged(
                media, isSaved: hasCommitted ? savedMedia.check(journal.safetySnapshot) : nil)
        }
        return Result(
            outcome: hasCommitted ? .completed : .undone, fileName: journal.fileName, safetySnapshot: journal.safetySnapshot,
            strategy: journal.strategy, keptMediaPath: kept)
    }

    /// The last step, after the outcome has been reported: forgets the restore.
    public static func forget(journalPath: String) throws(BackupError) {
        try FileSystem.removeFile(journalPath)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(journalPath))
    }
}
