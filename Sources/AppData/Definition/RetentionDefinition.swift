/// The app's retention rules. The newest backup is always kept.
public struct RetentionDefinition: Sendable, Equatable {
    public let keepLast: Int?
    public let keepWithinDays: Int?
    public let safetyKeepLast: Int
    /// The backups that are counted and removed.
    public let counted: CountedBackups

    public init(keepLast: Int?, keepWithinDays: Int?, safetyKeepLast: Int, counted: CountedBackups = .unnamed) {
        self.keepLast = keepLast
        self.keepWithinDays = keepWithinDays
        self.safetyKeepLast = safetyKeepLast
        self.counted = counted
    }
}
