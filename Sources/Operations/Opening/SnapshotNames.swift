import AppData
import BackupCore
import BackupRepository
import SystemIO

/// The names of a store's backups, for shell completion.
public struct SnapshotNames: Sendable {
    /// The names of the backups in the repository, oldest first.
    public let backups: [String]
    /// The names of the safety backups' files in `safety/`, oldest first.
    public let safetyBackups: [String]

    /// Reads the names in the store at `path` without opening the store: a key press for completion must not finish a restore,
    /// run a command or change a database.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when it must not be trusted.
    public init(storeAt path: String, secret: RepositorySecretSource?) throws(BackupError) {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        let settings = try StoreSettings.read(paths.settings)
        let repository = try RepositoryAccess.own(settings, in: paths, secret: secret, look: .none).open()
        backups = repository.snapshots(kind: .snapshot).map(\.name.description)
        // Without the definition, the backups themselves can still be listed.
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
