/// Whether the command `notify` of a store's settings is run after what somebody has asked for, if the settings do not say.
public enum Announcements: String, CaseIterable, Sendable {
    case on
    case off
}
