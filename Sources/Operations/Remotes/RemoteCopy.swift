import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// The copy of a store's repository in one remote, as this machine sees it, or the repository itself if a server keeps it: what
/// was read of it is kept in the store.
struct RemoteCopy: Sendable {
    let settings: RemoteSettings
    private let remote: RemoteRepository
    private let catalogHome: CatalogHome

    /// Sends no request: what is known already can be read while the remote cannot be reached.
    /// - Parameter isWritable: whether it is changed there: the store's own repository, or a copy from which backups are removed.
    /// - Throws: errors of the settings, and of the store's disk.
    init(_ settings: RemoteSettings, in paths: StorePaths, isWritable: Bool = false) throws(BackupError) {
        self.settings = settings
        let folder = paths.remoteCache(settings.name)
        let storage = DeferredStorage(at: settings.url) { () throws(BackupError) in
            try settings.open(in: paths, isReadOnly: true)
        }
        // Reading gives up a silent server soon, since programs wait for it. A transfer to it has more time.
        let writing =
            isWritable
            ? DeferredStorage(at: settings.url) { () throws(BackupError) in try settings.open(in: paths) } : nil
        try Self.forgetOtherPlace(folder, settings.url)
        remote = try RemoteRepository(in: storage, cacheFolder: folder, writingTo: writing)
        CacheDirectoryTag.mark(folder)
        catalogHome = .folder(paths.catalogs)
    }

    /// Removes what was read of the place that the remote had before: it must not be taken for what lies at this one.
    private static func forgetOtherPlace(_ folder: String, _ url: String) throws(BackupError) {
        let record = "\(folder)/place"
        let text = Array("\(url)\n".utf8)
        let before = try FileSystem.readFileIfPresent(record, limitBytes: 1 << 16)
        if before == text { return }
        try FileSystem.removeTree(folder)
        try FileSystem.makeDirectories(folder, isDurable: before != nil)
        // Without a record, what a power cut leaves here is removed. One of another place must not come back.
        if before == nil { return try FileSystem.writeForReaders(record, text) }
        try FileSystem.writeFileAtomically(record, text)
    }

    var messages: RemoteMessages { RemoteMessages(label: settings.shownLabel, location: settings.url) }

    /// The folder with what is known of the repository.
    var repositoryPath: String { remote.repositoryPath }

    /// Whether it can be opened without asking the remote.
    var isCached: Bool { remote.isCached }

    /// Asks the remote what is new.
    /// - Throws: with the texts of `RemoteMessages`. What was known before stays.
    func refresh(progress: ProgressHandler? = nil) throws(BackupError) {
        do throws(BackupError) {
            try readNews(progress: progress)
        } catch {
            throw messages.reading(error)
        }
    }

    /// Asks the remote what is new.
    /// - Throws: the errors as they are. What was known before stays.
    func readNews(progress: ProgressHandler? = nil) throws(BackupError) { try remote.refresh(progress: progress) }

    /// Asks the remote what is new, if it can be reached. What is known already can be read without it.
    /// - Returns: why it could not be asked.
    func refreshIfPossible(progress: ProgressHandler?) throws(BackupError) -> BackupError? {
        try unreachable { () throws(BackupError) in try refresh(progress: progress) }
    }

    /// Asks the remote only whether it still has what is known of it: for an operation that takes a lock, and asks what is new
    /// then.
    /// - Returns: why it could not be asked.
    func confirmIfPossible(progress: ProgressHandler?) throws(BackupError) -> BackupError? {
        try unreachable { () throws(BackupError) in
            var isSame = false
            do throws(BackupError) {
                if isCached { isSame = try remote.isSame() }
            } catch {
                throw messages.reading(error)
            }
            if !isSame { try refresh(progress: progress) }
        }
    }

    /// - Returns: the error of `ask`, if what is known can be read without it.
    private func unreachable(_ ask: () throws(BackupError) -> Void) throws(BackupError) -> BackupError? {
        do throws(BackupError) {
            try ask()
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

    /// Transfers what is needed to list backups in the background, unless it is too much.
    func readMetadataAhead() { remote.readMetadataAhead() }

    /// Keeps what an upload to the copy of `original` stores there; `nil` when something else is known of it.
    func uploads(from original: Repository) -> KeptUploads? { remote.uploads(from: original) }

    /// Creates the repository on the server, which must have nothing at this place.
    /// - Throws: as `RemoteRepository.create`.
    func create(password: SecretBytes?, catalogHome: CatalogHome) throws(BackupError) -> Repository {
        try remote.create(password: password, catalogHome: catalogHome)
    }

    /// The same with the keys of the store's own repository.
    /// - Throws: `notPermitted` when the remote has a copy of another repository.
    func open(copyOf original: Repository) throws(BackupError) -> Repository {
        try remote.open(sharingKeysOf: original, catalogHome: catalogHome)
    }

    /// The same for a copy that is going to be changed.
    /// - Throws: `notPermitted` also for a repository in which machines make backups.
    func openWritable(copyOf original: Repository) throws(BackupError) -> Repository {
        let repository = try open(copyOf: original)
        guard !repository.isPrimary else {
            throw BackupError(
                .notPermitted, "machines make backups in the repository here, so it is no copy", path: settings.url)
        }
        return repository
    }
}
