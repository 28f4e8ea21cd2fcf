import BackupCore

/// What a reader made of an input.
public enum FuzzOutcome: Sendable, Hashable {
    case accepted
    case refused(BackupError.Code)
}
