import BackupCore

/// One part of what `backupfs status` shows to people, as the app's own documents have it.
public struct StatusBlock: Sendable, Equatable {
    /// What of the store's state is in it.
    public enum Content: String, CaseIterable, Sendable {
        /// The last and the next backup, how many there are, and what runs.
        case summary
        /// Where the backups are, and whether they are also elsewhere.
        case remote
        /// The records: how many, from when to when, in which months.
        case statistics
        /// The newest backups.
        case backups
    }

    /// Something that the app's screens offer, and the verb that does it.
    public struct Action: Sendable, Equatable {
        public let label: Message
        /// What follows `backupfs` on the command line.
        public let command: String

        public init(label: Message, command: String) {
            self.label = label
            self.command = command
        }
    }

    public let heading: Message
    public let contents: [Content]
    public let actions: [Action]

    public init(heading: Message, contents: [Content], actions: [Action]) {
        self.heading = heading
        self.contents = contents
        self.actions = actions
    }
}
