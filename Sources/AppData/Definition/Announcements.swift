/// Whether the `notify` command of a store's settings runs after requested operations, if the settings do not say.
public enum Announcements: String, CaseIterable, Sendable {
    case on
    case off
}
