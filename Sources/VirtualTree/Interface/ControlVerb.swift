/// What can be asked for in `control/`; the raw value is the name of the file.
public enum ControlVerb: String, CaseIterable, Sendable {
    case backup, cancel, check, pause, pin, prune, resume, undelete, undo, unpin, verify
}
