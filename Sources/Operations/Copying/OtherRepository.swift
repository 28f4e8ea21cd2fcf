import BackupCore
import BackupRepository
import SystemIO

/// A repository that is not the store's, for copying backups: a folder, or a place on a server.
public struct OtherRepository {
    /// The path of a folder, or `s3:https://HOST/BUCKET/PREFIX`.
    let location: String
    /// How the server is reached; `nil` for a folder.
    let server: RemoteSettings?
    /// Called for the password, if the repository is encrypted.
    let secret: RepositorySecretSource
    /// Creates the repository if there is none; `nil` if it must exist.
    let creation: Creation?

    /// How a missing repository is created.
    public enum Creation: Sendable {
        case plain
        /// Called for the password.
        case encrypted(@Sendable () throws(BackupError) -> SecretBytes)
    }

    public init(
        at location: String, server: RemoteSettings?, creation: Creation?, secret: @escaping RepositorySecretSource
    ) {
        self.location = server == nil ? FileSystem.absolutePath(location) : location
        self.server = server
        self.secret = secret
        self.creation = creation
    }

    /// Opens it.
    /// - Parameter progress: of reading what is new on a server.
    /// - Returns: `nil` when there is none yet, but it is to be created.
    /// - Throws: `noRepository` when there is none; `usage` when it is not encrypted as the user wants it; `wrongPassword`;
    ///   errors of a server.
    func open(for store: Store, progress: ProgressHandler?) throws(BackupError) -> Repository? {
        guard let found = try find(store.paths, progress) else {
            if creation != nil { return nil }
            throw missing()
        }
        let facts = try Repository.facts(at: found.path)
        if case .encrypted? = creation, !facts.isEncrypted {
            throw BackupError(
                .usage, "there is a repository here already, which is not encrypted", path: location,
                remedy: "Leave out --encrypt, or name another place.")
        }
        try Repository.requireNoKey(unlessEncrypted: facts, at: found.path)
        return try found.open()
    }

    /// Opens it, also where it would be created.
    /// - Throws: as `open`.
    func openExisting(for store: Store, progress: ProgressHandler?) throws(BackupError) -> Repository {
        guard let opened = try open(for: store, progress: progress) else { throw missing() }
        return opened
    }

    private func missing() -> BackupError {
        BackupError(
            .noRepository, "there is no repository here", path: location,
            remedy: "Create it with --init, or name another place.")
    }

    /// Creates it where there is none.
    /// - Throws: `notSupported` for a place among the app's data; the errors of `Repository.create` and
    ///   `RemoteRepository.create`.
    func create(for store: Store) throws(BackupError) -> Repository {
        if server == nil {
            try DataPaths(
                database: store.database.path, media: store.mediaPath, storePaths: [store.paths.root], repository: location
            ).check()
        }
        var password: SecretBytes?
        if case .encrypted(let ask)? = creation { password = try ask() }
        let catalogs = CatalogHome.folder(store.paths.catalogs)
        guard let server else { return try Repository.create(at: location, password: password, catalogHome: catalogs) }
        return try RemoteCopy(server, in: store.paths, isWritable: true).create(password: password, catalogHome: catalogs)
    }

    private func find(
        _ paths: StorePaths, _ progress: ProgressHandler?
    ) throws(BackupError) -> (path: String, open: () throws(BackupError) -> Repository)? {
        let secret = secret
        guard let server else {
            guard try Repository.exists(at: location) else { return nil }
            let (path, catalogs) = (location, CatalogHome.folder(paths.catalogs))
            return (
                path, { () throws(BackupError) in try Repository.open(at: path, secret: secret, catalogHome: catalogs) }
            )
        }
        let remote = try RemoteCopy(server, in: paths, isWritable: true)
        do throws(BackupError) {
            try remote.refresh(progress: progress)
        } catch {
            guard error.code == .noRepository else { throw error }
            return nil
        }
        return (remote.repositoryPath, { () throws(BackupError) in try remote.open(secret: secret) })
    }
}
