import BackupCore

/// The name of a backup stage in an app's own documents, and the percentage at which it begins.
public struct BackupPhase: Sendable, Equatable {
    public let stage: BackupStage
    public let percent: Int
    public let message: Message
    /// The message with `{current}` and `{total}` in it, in this order, for stages that go from file to file.
    public let each: String?

    public init(stage: BackupStage, percent: Int, message: Message, each: String? = nil) {
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
