import BackupCore

/// What became of an archive's media files.
public struct MediaOutcome: Sendable, Equatable {
    /// Files that were not there; with `replace`, all of the archive's.
    public var added = 0
    /// Files that have come under another name, since another file has theirs.
    public var renamed = 0
    /// Files that were there, byte for byte.
    public var alreadyThere = 0
    /// Files that only skipped records name, which have another version of them.
    public var skipped = 0

    /// What is to be said of files without all that the backup has of them.
    var incomplete: Message?

    public init() {}

    /// Files that have come.
    public var restoredCount: Int { added + renamed }
}
