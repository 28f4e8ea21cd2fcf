import BackupCore
import BackupRepository
import SystemIO

extension RepositoryAccess {
    /// The store's own repository. One on a server is asked what is new, if the server can be reached.
    /// - Parameters:
    ///   - secret: asked for the password or key only if the repository is encrypted.
    ///   - progress: of reading what is new on a server.
    ///   - look: what a server is asked.
    /// - Throws: errors of a server of which nothing is known yet.
    static func own(
        _ settings: StoreSettings, in paths: StorePaths, secret: RepositorySecretSource?, progress: ProgressHandler? = nil,
        look: ServerLook = .news
    ) throws(BackupError) -> RepositoryAccess {
        if let server = settings.primary {
            let remote = try RemoteCopy(server, in: paths, isWritable: true)
            let staleness: BackupError? =
                switch look {
                case .none: nil
                case .identity: try remote.confirmIfPossible(progress: progress)
                case .news: try remote.refreshIfPossible(progress: progress)
                }
            return access(to: remote, name: nil, staleness, secret)
        }
        let path = settings.repositoryFolder(in: paths)
        let catalogs = CatalogHome.folder(paths.catalogs)
        return RepositoryAccess(remoteName: nil, location: path, path: path, staleness: nil) { () throws(BackupError) in
            try Repository.open(at: path, secret: secret, catalogHome: catalogs)
        }
    }

    /// The copy in a remote.
    static func copy(
        in remote: RemoteCopy, staleness: BackupError?, secret: RepositorySecretSource?
    ) -> RepositoryAccess {
        access(to: remote, name: remote.settings.name, staleness, secret)
    }

    private static func access(
        to remote: RemoteCopy, name: String?, _ staleness: BackupError?, _ secret: RepositorySecretSource?
    ) -> RepositoryAccess {
        RepositoryAccess(
            remoteName: name, location: remote.settings.url, path: remote.repositoryPath, staleness: staleness
        ) { () throws(BackupError) in try remote.open(secret: secret) }
    }
}
