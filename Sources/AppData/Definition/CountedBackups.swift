/// Which backups a rule of retention counts and removes; it leaves the others alone.
public enum CountedBackups: String, Sendable, CaseIterable {
    /// Those that were made by themselves, by the schedule.
    case automatic
    /// Those that nobody has given a name, and which are called by their time: also what was made by hand.
    case unnamed
    case all
}
