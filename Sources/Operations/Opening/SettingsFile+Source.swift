import BackupCore
import BackupRepository

extension SettingsFile {
    /// Updates the settings stored in the repository, as the next backup would. The repository may be missing, or need a password
    /// that was not given.
    /// - Parameter secret: asked for the password or key only if the repository is encrypted.
    public func updateSource(secret: RepositorySecretSource?) throws(BackupError) {
        let settings = try StoreSettings.read(path)
        let identity = try StoreIdentity.read(paths.identity)
        // If another repository is in its place, opening the store detects that.
        guard identity.repositoryPath == settings.repositoryPath else { return }
        let access = try RepositoryAccess.own(settings, in: paths, secret: secret)
        try identity.check(Repository.facts(at: access.path), at: access.location)
        let repository = try access.open()
        try SourceUpdate(paths: paths, identity: identity, repository: repository).run(
            settings, Store.definition(settings.app, in: paths))
    }
}
