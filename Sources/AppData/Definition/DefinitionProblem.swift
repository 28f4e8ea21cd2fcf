import BackupCore

/// A problem in a definition, or something without effect.
public struct DefinitionProblem: Sendable, Equatable {
    /// Counted from 1.
    public let line: Int
    /// A sentence for a person, without the line and without a full stop: "the definition has no title".
    public let message: Message
    /// What to do about it, as a sentence with a full stop.
    public let remedy: Message

    /// The messages quote text from the file, which may be of any length and content if it is not a definition.
    private static let textLimit = 1_000

    public init(line: Int, message: Message, remedy: Message) {
        self.line = line
        self.message = message.shortened(limit: Self.textLimit)
        self.remedy = remedy.shortened(limit: Self.textLimit)
    }

    /// "line 3: the definition has no title".
    public var text: Message { "line \(line): \(message)" }
}
