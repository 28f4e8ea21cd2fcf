/// What is known of a backup before it has ended. Called on the thread that makes it.
public struct BackupMilestones: Sendable {
    /// No other operation is in its way, and its name is free: from now on only the backup itself can fail. It may be called more than once.
    public let hasBegun: @Sendable () -> Void
    /// It becomes visible now, under this name: another one than was asked for where another backup has taken that meanwhile. Returns whether it is to be
    /// pinned.
    public let willAppear: @Sendable (FileName) -> Bool

    public init(
        hasBegun: @escaping @Sendable () -> Void = {}, willAppear: @escaping @Sendable (FileName) -> Bool = { _ in false }
    ) {
        self.hasBegun = hasBegun
        self.willAppear = willAppear
    }
}
