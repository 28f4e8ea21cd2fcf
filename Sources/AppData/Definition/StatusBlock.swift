import BackupCore

/// One part of the output of `backupfs status`, in the form of the app's own documents.
public struct StatusBlock: Sendable, Equatable {
    /// The parts of the store's state that it shows.
    public enum Content: String, CaseIterable, Sendable {
        /// The last and the next backup, their number, and running operations.
        case summary
        /// The location of the backups, and whether they are also stored elsewhere.
        case remote
        /// The records: their number, time range, and distribution over months.
        case statistics
        /// The newest backups.
        case backups
    }

    /// An action of the app's screens, and the command that performs it.
    public struct Action: Sendable, Equatable {
        public let label: Message
        /// The arguments after `backupfs` on the command line.
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
