import BackupCore
import SystemIO

/// What a repository's config says, read without its password.
public struct RepositoryFacts: Sendable, Equatable {
    /// 32 hexadecimal digits, unique to this repository.
    public let id: String
    public let isEncrypted: Bool
}

extension Repository {
    public var facts: RepositoryFacts { RepositoryFacts(id: id, isEncrypted: isEncrypted) }

    /// - Throws: `noRepository`, `unsupportedVersion`, `repositoryDamaged`, as `open` does.
    public static func facts(at path: String) throws(BackupError) -> RepositoryFacts {
        let layout = RepositoryLayout(path: FileSystem.absolutePath(path))
        let configuration = try ConfigurationFiles(layout: layout).read().configuration
        return RepositoryFacts(id: configuration.repositoryID, isEncrypted: configuration.isEncrypted)
    }

    /// To be called before a store trusts the config of a repository that it has not used: a user who can write there could have switched the encryption off.
    /// - Throws: `notPermitted` for a repository that has a key file although its config says that it is not encrypted.
    public static func requireNoKey(unlessEncrypted facts: RepositoryFacts, at path: String) throws(BackupError) {
        guard !facts.isEncrypted else { return }
        let layout = RepositoryLayout(path: FileSystem.absolutePath(path))
        for key in [layout.key, layout.keyCopy] where try FileSystem.exists(key) {
            throw BackupError(
                .notPermitted, "the repository has a key file, and its config says that it is not encrypted", path: key,
                remedy: "Its config was changed by another program. Copy it back from another copy of the repository.")
        }
    }
}
