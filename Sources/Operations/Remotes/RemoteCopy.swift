import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// The copy of a store's repository in one remote, as this machine sees it: what was read of it is kept in the store.
struct RemoteCopy: Sendable {
    let settings: RemoteSettings
    private let remote: RemoteRepository
    private let catalogHome: CatalogHome

    /// Sends no request: what is known already can be read while the remote cannot be reached.
    /// - Throws: errors of the settings, and of the store's disk.
    init(_ settings: RemoteSettings, in paths: StorePaths) throws(BackupError) {
        self.settings = settings
        let folder = paths.remoteCache(settings.name)
        let storage = DeferredStorage(at: settings.url) { () throws(BackupError) in
            try settings.open(in: paths, isReadOnly: true)
        }
        remote = try RemoteRepository(in: storage, cacheFolder: folder)
        CacheDirectoryTag.mark(folder)
        catalogHome = .folder(paths.catalogs)
    }

    private var messages: RemoteMessages { RemoteMessages(label: settings.shownLabel, location: settings.url) }

    /// The folder with what is known of the repository.
    var repositoryPath: String { remote.repositoryPath }

    /// Whether it can be opened without asking the remote.
    var isCached: Bool { remote.isCached }

    /// Asks the remote what is new.
    /// - Throws: with the texts of `RemoteMessages`. What was known before stays.
    func refresh(progress: ProgressHandler? = nil) throws(BackupError) {
        do throws(BackupError) {
            try remote.refresh(progress: progress)
        } catch {
            throw messages.reading(error)
        }
    }

    /// Asks the remote what is new, if it can be reached. What is known already can be read without it.
    /// - Returns: why it could not be asked.
    func refreshIfPossible(progress: ProgressHandler?) throws(BackupError) -> BackupError? {
        do throws(BackupError) {
            try refresh(progress: progress)
            return nil
        } catch {
            guard isCached, [.offline, .accessDenied, .inputOutput].contains(error.code) else { throw error }
            return error
        }
    }

    /// - Throws: as `Repository.open`.
    func open(secret: RepositorySecretSource?) throws(BackupError) -> Repository {
        try remote.open(secret: secret, catalogHome: catalogHome)
    }

    /// The same with the keys of the store's own repository.
    /// - Throws: `notPermitted` when the remote has a copy of another repository.
    func open(copyOf original: Repository) throws(BackupError) -> Repository {
        try remote.open(sharingKeysOf: original, catalogHome: catalogHome)
    }
}
