/// Which of an app's versions makes a backup: the one that people use, or the one that its developers work on. Backups of one are called, listed, counted
/// and removed apart from those of the other.
public enum Channel: String, CaseIterable, Sendable {
    case production
    case development
}
