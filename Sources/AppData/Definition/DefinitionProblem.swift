import BackupCore

/// Something in a definition that is not right, or that does nothing.
public struct DefinitionProblem: Sendable, Equatable {
    /// Counted from 1.
    public let line: Int
    /// A sentence for a person, without the line and without a full stop: "the definition has no title".
    public let message: Message
    /// What to do about it, as a sentence with a full stop.
    public let remedy: Message

    /// Sentences that name what is there: of any length, and with whatever is in it, in a file that is something else.
    private static let textLimit = 1_000

    public init(line: Int, message: Message, remedy: Message) {
        self.line = line
        self.message = message.shortened(limit: Self.textLimit)
        self.remedy = remedy.shortened(limit: Self.textLimit)
    }

    /// "line 3: the definition has no title".
    public var text: Message { "line \(line): \(message)" }
}
