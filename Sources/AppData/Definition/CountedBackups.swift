/// The backups that a retention rule counts and removes; it leaves the others alone.
public enum CountedBackups: String, Sendable, CaseIterable {
    /// Backups that the schedule made.
    case automatic
    /// Backups without a chosen name, which are named after their time: includes manual ones.
    case unnamed
    case all
}
