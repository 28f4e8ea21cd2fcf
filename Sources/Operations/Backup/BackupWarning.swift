import BackupCore

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
    }

    let kind: Kind
    public let message: Message

    init(_ kind: Kind, _ message: Message) {
        self.kind = kind
        self.message = message
    }
}
