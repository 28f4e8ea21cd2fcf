import BackupCore
import SystemIO

/// The leftovers of a restore after which the data is entirely new or entirely old.
public struct RestoreEnd: Sendable {
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
        return BackupError(
            code, "\(message); media files that were in the way when the old ones came back were kept in \(path)",
            path: self.path, remedy: remedy, findings: findings)
    }
}
