/// What a person, or the schedule, can have done.
public enum OperationKind: String, CaseIterable, Sendable {
    case backup
    case restore
    /// Of a backup into a folder, with the app's data left alone.
    case extract
    case export
    case forget
    case delete
    /// A removed backup was brought back.
    case undelete
    case rename
    case prune
    case check
    case repair
    case verify
    /// Of a restore that a crash interrupted.
    case recovery
    case mount
    case unmount

    /// Whether the history has it: what was done with data.
    var isRemembered: Bool { self != .mount && self != .unmount }
}
