import BackupCore

/// Compares messages with expected English texts.
extension Message {
    public var isEmpty: Bool { english.isEmpty }

    public func contains(_ text: String) -> Bool { english.contains(text) }
    public func hasPrefix(_ text: String) -> Bool { english.hasPrefix(text) }
    public func hasSuffix(_ text: String) -> Bool { english.hasSuffix(text) }

    public static func == (message: Message, text: String) -> Bool { message.english == text }
}

/// Compares all of them.
public func == (messages: [Message], texts: [String]) -> Bool { messages.map(\.english) == texts }
