import BackupCore
import BackupRepository
import SystemIO

/// The names of a store's backups, for a shell that completes them.
public struct SnapshotNames: Sendable {
    /// Of the backups in the repository, oldest first.
    public let backups: [String]
    /// Of the safety backups' files in `safety/`, oldest first.
    public let safetyBackups: [String]

    /// Those of the store at `path`. The store is not opened for it: a key that is pressed for a list of names finishes no restore, runs no command and
    /// changes no database.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when it is one that must not be believed.
    public init(storeAt path: String, secret: RepositorySecretSource?) throws(BackupError) {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        let settings = try StoreSettings.read(paths.settings)
        let repository = try Repository.open(at: paths.resolve(settings.repositoryPath), secret: secret)
        backups = repository.snapshots(kind: .snapshot).map(\.name.description)
        // Without the definition the backups themselves can be named all the same.
        guard let definition = try? Store.definition(settings.app, in: paths) else {
            safetyBackups = []
            return
        }
        safetyBackups = UniqueFileNames.make(
            repository.snapshots(kind: .safety).map {
                Store.safetyFile(of: $0, definition, hasMedia: settings.mediaPath != nil).name
            })
    }
}
