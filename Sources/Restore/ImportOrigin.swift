/// Where a file to restore comes from.
public enum ImportOrigin: Sendable, Equatable {
    /// Anybody may have made it.
    case foreign
    /// This program has just made it from a backup of the store's own repository, whose every byte is checked.
    case ownRepository
}
