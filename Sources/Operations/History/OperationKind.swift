/// Operations that a user or the schedule can start.
public enum OperationKind: String, CaseIterable, Sendable {
    case backup
    case restore
    /// Writes a backup into a folder; the app's data is not touched.
    case extract
    case export
    case forget
    case delete
    /// Brings a removed backup back.
    case undelete
    case rename
    case prune
    case check
    case repair
    case verify
    /// Finishes a restore that a crash interrupted.
    case recovery
    case mount
    case unmount

    /// Whether it is recorded in the history, as operations on data are.
    var isRemembered: Bool { self != .mount && self != .unmount }
}
