/// Events of a backup before it ends. Called on the thread that creates the backup.
public struct BackupMilestones: Sendable {
    /// No other operation blocks the backup, and its name is free: from now on only the backup itself can fail. May be called more than once.
    public let hasBegun: @Sendable () -> Void
    /// The backup becomes visible now, under this name, which differs from the requested one if another backup has taken that meanwhile. Returns whether to
    /// pin the backup.
    public let willAppear: @Sendable (FileName) -> Bool

    public init(
        hasBegun: @escaping @Sendable () -> Void = {}, willAppear: @escaping @Sendable (FileName) -> Bool = { _ in false }
    ) {
        self.hasBegun = hasBegun
        self.willAppear = willAppear
    }
}
