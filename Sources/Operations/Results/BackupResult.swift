import BackupCore
import BackupRepository

/// The outcome of a backup.
public struct BackupResult: Sendable {
    public let snapshot: Snapshot
    /// The name that was requested; `nil` if none was.
    let requestedName: FileName?
    /// Bytes added to the repository.
    public let storedBytes: UInt64
    /// Media files that the snapshot lacks because they could not be read, with the reason; also a damaged database.
    public let unreadable: [Message]
    /// Media files that records name but the app does not have.
    public let missing: [Message]

    /// Bytes read from the media folder. Unchanged files are not read.
    let mediaBytesRead: UInt64

    /// What the user should know about the backup although it is complete.
    public internal(set) var warnings: [BackupWarning] = []

    /// Backups that retention no longer keeps.
    public internal(set) var removed: [Snapshot] = []

    /// Everything a status reports about the backup: that it is incomplete, and the warnings.
    public var notices: [Message] { (incompleteness.map { [$0.message] } ?? []) + warnings.map(\.message) }

    /// The message for a backup that got another name because another backup took the requested one; `nil` when it has its own.
    public var renaming: BackupError? {
        guard let requestedName, requestedName != snapshot.name else { return nil }
        return BackupError(
            .alreadyExists,
            "another backup took the name \(requestedName) while this one was made: it is called \(snapshot.name)")
    }

    /// The message for a backup that is incomplete; `nil` when it is complete.
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

/// What the user should know about a backup although it is complete.
public struct BackupWarning: Sendable {
    /// The subject of the warning. The log records this, as it contains no message texts.
    enum Kind: String, CaseIterable, Sendable {
        /// The clock cannot be trusted.
        case clock
        /// The backup may be worse than earlier ones.
        case content
        /// The database holds data that no export has.
        case unexported
        /// The export cannot represent all values.
        case inexact
        /// Some restores would refuse values.
        case values
        /// No restore could write to the database.
        case triggers
        /// Another backup took the requested name, so this one got another.
        case name
        /// The backup lacks files that were moved while it ran.
        case moved
        /// A backup is kept only because this one holds much less.
        case held
        /// Labels of backups are missing, or it is unknown whether any are.
        case labels
        /// Another store continues the source.
        case successor
        /// `store.yaml` may be cut off.
        case settings
        /// Database, media folder and repository are nested in each other.
        case places
        /// The backup lacks extended attributes of files that it contains.
        case attributes
        /// The space of removed backups could not be released.
        case prune
        /// Photos could not be read, so that the backup has neither their dates nor their thumbnails.
        case photos
    }

    let kind: Kind
    public let message: Message

    init(_ kind: Kind, _ message: Message) {
        self.kind = kind
        self.message = message
    }
}
