/// The consecutive stages of a backup; an app's definition names them and sets the percentage at which each begins.
public enum BackupStage: String, CaseIterable, Sendable {
    /// The backup begins.
    case start
    /// The database is read.
    case data
    /// The media folder is listed.
    case listing
    /// Its files are read and stored.
    case media
    /// The data about records and files is written.
    case metadata
    /// The archive is laid out, and everything is made durable.
    case archive
    /// The backup exists.
    case end
}
