/// Where a running operation is. Callers get a value, never a running commentary: what is shown, and how often,
/// is theirs to decide.
public struct OperationProgress: Sendable {
    /// What it does now, in the words of the source documents ("Creating backup...").
    public var phase: Message
    public var processedItems: UInt64
    public var totalItems: UInt64
    public var processedBytes: UInt64

    public init(phase: Message, processedItems: UInt64 = 0, totalItems: UInt64 = 0, processedBytes: UInt64 = 0) {
        self.phase = phase
        self.processedItems = processedItems
        self.totalItems = totalItems
        self.processedBytes = processedBytes
    }

    /// 0 to 100, or `nil` while the total is not known.
    public var percent: Int? { totalItems == 0 ? nil : Int(min(100, processedItems * 100 / totalItems)) }
}

/// Told of progress, from the operation's thread; must return quickly.
public typealias ProgressHandler = @Sendable (OperationProgress) -> Void
