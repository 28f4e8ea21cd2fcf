/// What a backup does, one after the other; an app's definition says what it is called and from which percentage on it is.
public enum BackupStage: String, CaseIterable, Sendable {
    /// It begins.
    case start
    /// The database is read.
    case data
    /// The media folder is looked at.
    case listing
    /// Its files are read and stored.
    case media
    /// What is told of records and files is written.
    case metadata
    /// The archive is laid out, and all of it made durable.
    case archive
    /// The backup is there.
    case end
}
