import BackupCore

/// What a question about one file came to.
public enum MediaOutcome<Value: Sendable>: Sendable {
    case found(Value)
    /// It is no photo or video of a known format.
    case nothing
    case unreadable(UnreadableMedia)
    /// No file can be read: the message says what to install, or what is wrong with the helper.
    case helperMissing(BackupError)
}

/// Why a photo or video could not be read. It costs what it says of itself, and nothing else.
public enum UnreadableMedia: String, Sendable, Equatable {
    /// No decoder can make sense of it.
    case damaged
    case tooLarge
    /// The helper has ended while it read the file, each time.
    case crashed
    case timedOut
    /// The helper has sent nonsense.
    case malformedAnswer

    /// For a person, without the file's name.
    public var message: Message {
        switch self {
        case .damaged: "this photo or video cannot be decoded"
        case .tooLarge: "this photo is too large to be read"
        case .crashed: "the program that reads photos has crashed on this file"
        case .timedOut: "reading this photo or video took too long"
        case .malformedAnswer: "the program that reads photos has given a malformed answer for this file"
        }
    }
}
