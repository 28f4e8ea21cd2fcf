/// The origin of a file to restore.
public enum ImportOrigin: Sendable, Equatable {
    /// Untrusted: anyone may have created it.
    case foreign
    /// This program has just created it from a backup in the store's own repository, which verifies every byte.
    case ownRepository
}
