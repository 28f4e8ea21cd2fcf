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
        try Self.forgetOtherPlace(folder, settings.url)
        remote = try RemoteRepository(in: storage, cacheFolder: folder)
        CacheDirectoryTag.mark(folder)
        catalogHome = .folder(paths.catalogs)
    }

    /// Removes what was read of the place that the remote had before: it must not be taken for what lies at this one.
    private static func forgetOtherPlace(_ folder: String, _ url: String) throws(BackupError) {
        let record = "\(folder)/place"
        let text = Array("\(url)\n".utf8)
        if try FileSystem.readFileIfPresent(record, limitBytes: 1 << 16) == text { return }
        try FileSystem.removeTree(folder)
        try FileSystem.makeDirectories(folder)
        try FileSystem.writeFileAtomically(record, text)
    }

    fileprivate var messages: RemoteMessages { RemoteMessages(label: settings.shownLabel, location: settings.url) }

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
            // Busy: another process transfers a lot for the cache.
            guard isCached, [.offline, .accessDenied, .inputOutput, .busy].contains(error.code) else { throw error }
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

extension Store {
    /// Opens a store with the copy of its repository that is in a remote, so that the repository need not be there. Nothing in
    /// the copy can be changed, and the app's data is not looked at.
    /// - Parameters:
    ///   - remote: the name of the remote.
    ///   - log: overrides the log settings.
    ///   - secret: asked for the password or key only if the repository is encrypted.
    ///   - progress: of reading what is new in the remote.
    /// - Throws: `noRepository` when there is no store, or no backup in the remote; `notPermitted` when another user could have
    ///   written its settings, or for a copy of another repository; `wrongPassword`; `notFound` for an unknown remote; errors of
    ///   the remote, when nothing is known of it.
    public static func open(
        _ path: String, remote: String, log: LogOverrides = .environment, secret: RepositorySecretSource?,
        progress: ProgressHandler?
    ) throws(BackupError) -> Store {
        let paths = try trusted(path)
        let copy = try RemoteCopy(StoreSettings.read(paths.settings).remote(named: remote), in: paths)
        let staleness = try copy.refreshIfPossible(progress: progress)
        let store = try open(
            paths, log: log,
            copy: RepositoryCopy(
                remote: remote, location: copy.settings.url, path: copy.repositoryPath, staleness: staleness
            ) { () throws(BackupError) in try copy.open(secret: secret) })
        guard !store.repository.snapshots().isEmpty || !store.repository.recordDamages.isEmpty else {
            throw copy.messages.noBackups
        }
        return store
    }
}
