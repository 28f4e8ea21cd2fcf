import BackupCore

/// What the user should know of a backup that was made, though it is whole.
public struct BackupWarning: Sendable {
    /// What it is about: what the log says of it, which has no texts.
    enum Kind: String, CaseIterable, Sendable {
        /// The clock cannot be believed.
        case clock
        /// It may be worse than the backups before it.
        case content
        /// The database holds what no export has.
        case unexported
        /// The export cannot hold all values.
        case inexact
        /// Some restores would refuse values.
        case values
        /// No restore could write to the database.
        case triggers
        /// Another backup took its name, so it has another.
        case name
        /// It lacks files that were moved while it was made.
        case moved
        /// A backup stays only because this one holds much less.
        case held
        /// Labels of backups are missing, or it is not known whether any are.
        case labels
        /// Another store continues the source.
        case successor
        /// `store.yaml` may be cut off.
        case settings
        /// Database, media folder and repository lie in each other.
        case places
        /// It lacks extended attributes of files that it has.
        case attributes
        /// The room of what was removed could not be given back.
        case prune
    }

    let kind: Kind
    public let message: Message

    init(_ kind: Kind, _ message: Message) {
        self.kind = kind
        self.message = message
    }
}
