import BackupCore
import BackupRepository
import SystemIO

/// What a server with a repository is asked when the repository is opened.
public enum ServerLook: Sendable {
    /// Nothing.
    case none
    /// Whether it is still the same repository: enough for an operation that takes the repository's lock, since that asks what
    /// is new.
    case identity
    /// What is new.
    case news
}

/// How a store reaches its repository, or a copy of it.
struct RepositoryAccess {
    /// The name of the remote whose copy is read; `nil` for the store's own repository.
    let remoteName: String?
    /// Where the repository is, for messages.
    let location: String
    /// Its folder, or the folder with what is known of it.
    let path: String
    /// Why what is known may not be the newest; `nil` when it is.
    let staleness: BackupError?
    let open: () throws(BackupError) -> Repository
}

extension StoreSettings {
    /// The folder of the repository; for one on a server, the folder with what is cached of it.
    func repositoryFolder(in paths: StorePaths) -> String {
        guard let primary else { return paths.resolve(repositoryPath) }
        return RemoteRepository.repositoryPath(inCache: paths.remoteCache(primary.name))
    }

    /// Where the repository is, for people.
    func repositoryLocation(in paths: StorePaths) -> String { primary?.url ?? paths.resolve(repositoryPath) }
}
