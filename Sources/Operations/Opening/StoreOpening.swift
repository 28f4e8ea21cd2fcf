import BackupCore
import BackupRepository
import SystemIO

extension Store {
    /// Opens a store and finishes what a crash interrupted.
    /// - Parameters:
    ///   - log: overrides the log settings.
    ///   - secret: asked for the password or key only if the repository is encrypted.
    ///   - look: what the server of a repository on one is asked.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when another user could have written its settings;
    ///   `wrongPassword`.
    public static func open(
        _ path: String, log: LogOverrides = .environment, secret: RepositorySecretSource? = nil, look: ServerLook = .news
    ) throws(BackupError) -> Store {
        let paths = try trusted(path)
        let settings = try StoreSettings.read(paths.settings)
        // The environment may have the secret of a remote, whether that is used soon or later.
        if settings.remotes.contains(where: \.isOnServer) { ProcessSecrecy.begin() }
        let access = try RepositoryAccess.own(settings, in: paths, secret: secret, look: look)
        let store = try Store(paths: paths, log: log, access: access)
        try store.recover()
        store.upgradeOwnDatabase()
        return store
    }

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
        let store = try Store(
            paths: paths, log: log,
            access: .copy(in: copy, staleness: staleness, secret: secret))
        guard !store.repository.snapshots().isEmpty || !store.repository.recordDamages.isEmpty else {
            throw copy.messages.noBackups
        }
        return store
    }
}
