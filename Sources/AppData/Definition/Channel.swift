/// The app version that makes a backup: the production one, or the one of its developers. Backups of the two are named, listed, counted and removed separately.
public enum Channel: String, CaseIterable, Sendable {
    case production
    case development
}
