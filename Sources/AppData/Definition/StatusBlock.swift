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
        /// What the app's screen calls it.
        public let label: Message
        /// The arguments after `backupfs` on the command line.
        public let command: String
    }

    /// The title above the lines.
    public let heading: Message
    /// The lines, in their order.
    public let contents: [Content]
    /// Shown after the lines.
    public let actions: [Action]
}

/// The stages of a backup, as an app's own documents name them.
public typealias BackupPhase = ProgressPhase<BackupStage>

/// The message of one stage of an operation, and the percentage at which the stage begins.
public struct ProgressPhase<Stage: Equatable & Sendable>: Sendable, Equatable {
    public let stage: Stage
    /// 0 to 100.
    public let percent: Int
    public let message: Message
    /// The message with `{current}` and `{total}` in it, in this order, for stages that go from file to file.
    public let each: String?

    public init(stage: Stage, percent: Int, message: Message, each: String? = nil) {
        self.stage = stage
        self.percent = percent
        self.message = message
        self.each = each
    }

    /// The message for one of the files.
    public func message(current: UInt64, total: UInt64) -> Message {
        guard let each, let first = each.firstRange(of: "{current}"), let second = each.firstRange(of: "{total}"),
            first.upperBound <= second.lowerBound
        else { return message }
        var text = Message.StringInterpolation(literalCapacity: each.utf8.count, interpolationCount: 2)
        text.appendLiteral(String(each[..<first.lowerBound]))
        text.appendInterpolation(current)
        text.appendLiteral(String(each[first.upperBound..<second.lowerBound]))
        text.appendInterpolation(total)
        text.appendLiteral(String(each[second.upperBound...]))
        return Message(stringInterpolation: text)
    }
}

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
