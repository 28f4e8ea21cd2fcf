/// What can be asked for in `control/`; the raw value is the name of the file.
public enum ControlVerb: String, CaseIterable, Sendable {
    case backup, cancel, check, pause, pin, prune, resume, undelete, undo, unpin, verify
}

/// How the last request of a file in `control/` goes or went: the value of `StateAttribute`.
public enum ControlState: String, Sendable {
    case running
    case ended
    case failed
}

/// The extended attribute that says how far something is: a backup, or what was asked for in `control/`.
public enum StateAttribute {
    /// In full.
    public static let name = "user.backupfs.state"
}
