import BackupCore

/// A lower limit for a field's value.
public struct FieldLimit: Sendable, Equatable {
    public let value: Double
    /// As written in the definition, for messages.
    public let text: String
    /// Whether the limit itself is allowed.
    public let isInclusive: Bool

    public init(value: Double, text: String, isInclusive: Bool) {
        self.value = value
        self.text = text
        self.isInclusive = isInclusive
    }

    /// - Returns: false for a value below the limit, and for one that is not a number.
    public func allows(_ number: Double) -> Bool { isInclusive ? number >= value : number > value }

    /// "must not be negative", "must be above 0".
    var requirement: Message {
        if isInclusive { return value == 0 ? "must not be negative" : "must be at least \(text)" }
        return "must be above \(text)"
    }
}
