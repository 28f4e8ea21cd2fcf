import BackupCore
import SystemIO

/// The keys of an encrypted repository. All are derived from its master key, so that none reveals anything about another.
final class RepositoryKeys: Sendable {
    let master: SecretBytes
    /// Each chunk is sealed with its own key, derived from this one and the chunk's name.
    let chunks: SecretBytes
    /// Seals indexes, snapshot records and labels.
    let structures: SecretBytes
    /// Names chunks.
    let names: SecretBytes
    /// Hides the checksums in the catalog.
    let catalog: SecretBytes
    /// Proves who wrote the config.
    let configuration: SecretBytes
    /// Cut positions must be unpredictable, or the lengths of a file's chunks would reveal which file it is.
    let gearSeed: UInt64

    /// - Parameter repositoryID: 32 hexadecimal digits.
    init(master: SecretBytes, repositoryID: String) throws(BackupError) {
        guard let salt = Hexadecimal.decode(repositoryID.utf8), master.count == KeyFile.masterKeyByteCount else {
            throw BackupError(.invalidArgument, "this is not the key of an encrypted repository")
        }
        let root = try HKDF.extract(master, salt: salt)
        func key(_ purpose: String, count: Int = AESGCM.keyByteCount) throws(BackupError) -> SecretBytes {
            try HKDF.expand(root, info: Array("backupfs \(purpose)".utf8), count: count)
        }
        self.master = master
        chunks = try key("chunks")
        structures = try key("structures")
        names = try key("names")
        catalog = try key("catalog")
        configuration = try key("configuration")
        gearSeed = try key("gear seed", count: 8).withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
}

/// A secret that opens an encrypted repository.
public enum RepositorySecret: Sendable {
    case password(SecretBytes)
    /// The master key itself, from `Repository.masterKey`, for passing an open repository to another process of the same user.
    case masterKey(SecretBytes)
}

/// Gets the secret of an encrypted repository. It is called only if the repository is encrypted, so that no password is requested
/// needlessly.
/// - Parameter path: the repository's folder, to be shown in a password prompt.
public typealias RepositorySecretSource = (_ path: String) throws(BackupError) -> RepositorySecret
