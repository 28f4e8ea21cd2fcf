import BackupCore
import SystemIO

/// A secret that opens an encrypted repository.
public enum RepositorySecret: Sendable {
    case password(SecretBytes)
    /// The master key itself, from `Repository.masterKey`, for passing an open repository to another process of the same user.
    case masterKey(SecretBytes)
}

/// Gets the secret of an encrypted repository. It is called only if the repository is encrypted, so that no password is requested needlessly.
/// - Parameter path: the repository's folder, to be shown in a password prompt.
public typealias RepositorySecretSource = (_ path: String) throws(BackupError) -> RepositorySecret
