/// Where a running operation is. Callers get a value, never a running commentary: what is shown, and how often,
/// is theirs to decide.
public struct OperationProgress: Sendable, Equatable {
    /// What it does now, in the words of the source documents ("Creating backup...").
    public var phase: Message
    /// The same with how far it is, where the documents say it so ("Copying photos (2/3)"); the phase otherwise.
    public var message: Message
    public var processedItems: UInt64
    public var totalItems: UInt64
    public var processedBytes: UInt64
    /// What `processedBytes` will be in the end, as far as is known; 0 while it is not.
    public var totalBytes: UInt64
    private let knownPercent: Int?

    /// - Parameters:
    ///   - message: the phase, if not given.
    ///   - percent: where it is more than what the items tell.
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

    /// 0 to 100, or `nil` while the total is not known.
    public var percent: Int? {
        knownPercent ?? (totalItems == 0 ? nil : Int(min(100, processedItems * 100 / totalItems)))
    }
}

/// Told of progress, from the operation's thread; must return quickly.
public typealias ProgressHandler = @Sendable (OperationProgress) -> Void
