/// A message that is sent to another process of this program, which may show it in another language.
extension ByteWriter {
    public mutating func append(_ message: Message) {
        append(message.template)
        append(message.plural?.one ?? "")
        append(message.plural?.count ?? 0)
        append(UInt32(message.arguments.count))
        for argument in message.arguments {
            switch argument {
            case .text(let text):
                append(UInt8(0))
                append(text)
            case .message(let message):
                append(UInt8(1))
                append(message)
            }
        }
    }
}

extension ByteReader {
    /// Deeper than any message that is written: a damaged message must not exhaust the stack.
    private static var messageDepthLimit: Int { 64 }

    public mutating func readMessage() throws(BackupError) -> Message { try readMessage(depth: 0) }

    private mutating func readMessage(depth: Int) throws(BackupError) -> Message {
        guard depth < Self.messageDepthLimit else { throw BackupError(.damagedContent, "a message is nested too deeply") }
        let template = try readText()
        let one = try readText()
        let count = try read(UInt64.self)
        var arguments: [Message.Argument] = []
        for _ in 0..<(try read(UInt32.self)) {
            if try read(UInt8.self) == 0 {
                arguments.append(.text(try readText()))
            } else {
                arguments.append(.message(try readMessage(depth: depth + 1)))
            }
        }
        return Message(
            template: template, arguments: arguments, plural: one.isEmpty ? nil : Message.Plural(count: count, one: one))
    }
}
