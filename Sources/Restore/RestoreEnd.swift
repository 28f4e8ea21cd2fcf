import BackupCore
import SystemIO

/// What is left of a restore when the data is new or old as a whole.
public struct RestoreEnd: Sendable {
    /// A folder with media that are in no backup, which the restore has taken out of the media folder.
    public internal(set) var keptMediaPath: String?
    /// The folder in it with logs that could not come to their databases; `nil` when there are none.
    var separatedLogsPath: String? {
        guard let keptMediaPath else { return nil }
        let path = "\(keptMediaPath)/\(MediaUnit.separatedName)"
        return (try? FileSystem.exists(path)) == true ? path : nil
    }
    /// Why what was replaced could not be cleared away. The next start does it.
    public internal(set) var leftover: BackupError?

    /// Clears away what a restore that is done has replaced.
    /// - Parameter moved: what is known of the files that it has moved out of the folder.
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
    /// The same error, with the folder that an undo has moved files of the app's to.
    public func telling(ofKeptMedia path: String?) -> BackupError {
        guard let path else { return self }
        return BackupError(
            code, "\(message); media files that were in the way when the old ones came back were kept in \(path)",
            path: self.path, remedy: remedy, findings: findings)
    }
}
