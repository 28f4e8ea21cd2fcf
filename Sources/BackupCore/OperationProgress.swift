/// The progress of a running operation. Callers get values; they decide what to show, and how often.
public struct OperationProgress: Sendable, Equatable {
    /// The current step, in the words of the source documents ("Creating backup...").
    public var phase: Message
    /// The same with the progress in it, where the documents show it ("Copying photos (2/3)"); otherwise the phase.
    public var message: Message
    public var processedItems: UInt64
    public var totalItems: UInt64
    public var processedBytes: UInt64
    /// The expected final value of `processedBytes`, as far as known; 0 while unknown.
    public var totalBytes: UInt64
    private let knownPercent: Int?

    /// - Parameters:
    ///   - message: defaults to the phase.
    ///   - percent: overrides the value computed from the items.
    public init(
        phase: Message, message: Message? = nil, processedItems: UInt64 = 0, totalItems: UInt64 = 0, processedBytes: UInt64 = 0,
        totalBytes: UInt64 = 0, percent: Int? = nil
    ) {
        self.phase = phase
        self.message = message ?? phase
        self.processedItems = processedItems
        self.totalItems = totalItems
        self.processedBytes = processedBytes
        self.totalBytes = totalBytes
        knownPercent = percent
    }

    /// 0 to 100, or `nil` while the total is unknown.
    public var percent: Int? {
        knownPercent ?? (totalItems == 0 ? nil : Int(min(100, processedItems * 100 / totalItems)))
    }
}

/// Receives progress on the operation's thread; must return quickly.
public typealias ProgressHandler = @Sendable (OperationProgress) -> Void
