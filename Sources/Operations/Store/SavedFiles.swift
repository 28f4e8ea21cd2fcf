import Restore

extension Store {
    /// The media files in the safety backups.
    var savedMedia: SavedMedia { SavedMedia(in: repository) }
}
