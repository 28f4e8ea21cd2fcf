import BackupCore

/// The outcome of restoring an archive's media files.
public struct MediaOutcome: Sendable, Equatable {
    /// Files that did not exist; with `replace`, all files of the archive.
    public var added = 0
    /// Files restored under another name, since another file has theirs.
    public var renamed = 0
    /// Files that already existed, byte for byte.
    public var alreadyThere = 0
    /// Files that only skipped records name, which have another version of them.
    public var skipped = 0

    /// A warning about files restored without all their metadata.
    var incomplete: Message?

    public init() {}

    /// Files that were restored.
    public var restoredCount: Int { added + renamed }
}
