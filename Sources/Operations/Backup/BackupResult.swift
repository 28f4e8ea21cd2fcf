import BackupCore
import BackupRepository

/// What a backup made.
public struct BackupResult: Sendable {
    public let snapshot: Snapshot
    /// The name that was asked for; `nil` where none was.
    let requestedName: FileName?
    /// What it added to the repository, in bytes.
    public let storedBytes: UInt64
    /// Media files that could not be read, and why: the snapshot lacks them; and a database that is damaged.
    public let unreadable: [Message]
    /// Media files that records name, and that are not there: as the app has it.
    public let missing: [Message]

    /// What was read of the media folder, in bytes: of files that are as they were, nothing is.
    let mediaBytesRead: UInt64

    /// What the user should know of it, though the backup is whole.
    public internal(set) var warnings: [BackupWarning] = []

    /// Backups that the rule of retention no longer keeps.
    public internal(set) var removed: [Snapshot] = []

    /// All that a status says of it: that it is not whole, and the warnings.
    public var notices: [Message] { (incompleteness.map { [$0.message] } ?? []) + warnings.map(\.message) }

    /// What to say of a backup that was made under another name, since another backup took the one that was asked for; `nil` when it has its own.
    public var renaming: BackupError? {
        guard let requestedName, requestedName != snapshot.name else { return nil }
        return BackupError(
            .alreadyExists,
            "another backup took the name \(requestedName) while this one was made: it is called \(snapshot.name)")
    }

    /// What to say of a backup that was made, but is not whole; `nil` when it is.
    public var incompleteness: BackupError? {
        guard !unreadable.isEmpty else { return nil }
        return BackupError(
            .sourceUnreadable,
            .plural(
                unreadable.count,
                one: "the backup \(snapshot.name) is not whole: \(unreadable.count) file could not be read or is damaged",
                other: "the backup \(snapshot.name) is not whole: \(unreadable.count) files could not be read or are damaged"),
            remedy: "Look at them and back up again.", findings: unreadable)
    }
}
