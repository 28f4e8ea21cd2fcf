import BackupCore
import SystemIO

/// What opens an encrypted repository.
public enum RepositorySecret: Sendable {
    case password(SecretBytes)
    /// The master key itself, from `Repository.masterKey`: for handing an open repository on to another process of the same user.
    case masterKey(SecretBytes)
}

/// Finds the secret of an encrypted repository; asked only if the repository is encrypted, so that nobody types a password for nothing.
/// - Parameter path: the repository's folder, to be shown to whoever is asked.
public typealias RepositorySecretSource = (_ path: String) throws(BackupError) -> RepositorySecret
