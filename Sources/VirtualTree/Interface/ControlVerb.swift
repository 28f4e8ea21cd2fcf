/// What can be asked for in `control/`; the raw value is the name of the file.
public enum ControlVerb: String, CaseIterable, Sendable {
    case backup, cancel, check, pause, pin, prune, resume, undelete, undo, unpin, verify
}

/// How the last request of a file in `control/` goes or went: the value of the attribute `user.backupfs.state`.
public enum ControlState: String, Sendable {
    case running
    case ended
    case failed

    /// The name of the attribute.
    public static let attributeName = "user.backupfs.state"
}
