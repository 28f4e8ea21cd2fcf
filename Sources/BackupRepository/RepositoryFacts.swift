import BackupCore
import SystemIO

/// What a repository says it is, read without its password.
public struct RepositoryFacts: Sendable, Equatable {
    /// 32 hexadecimal digits that no other repository has.
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
}
