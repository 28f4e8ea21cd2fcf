import BackupCore
import BackupRepository
import SystemIO

extension Store {
    /// The names of the backups in the repository of the store at `path`, oldest first. The store is not opened for it: a key that is pressed for a list
    /// of names finishes no restore, runs no command and changes no database.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when it is one that must not be believed.
    public static func snapshotNames(at path: String, secret: RepositorySecretSource?) throws(BackupError) -> [String] {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        let settings = try StoreSettings.read(paths.settings)
        let repository = try Repository.open(at: paths.resolve(settings.repositoryPath), secret: secret)
        return repository.snapshots(kind: .snapshot).map(\.name.description)
    }
}
