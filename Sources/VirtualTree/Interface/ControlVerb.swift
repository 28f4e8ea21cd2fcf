/// What can be asked for in `control/`; the raw value is the name of the file.
public enum ControlVerb: String, CaseIterable, Sendable {
    case backup, cancel, check, pin, prune, unpin, verify
}
