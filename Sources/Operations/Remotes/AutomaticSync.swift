import BackupCore
import SystemIO

/// The remotes of a store to which its backups are uploaded without a request.
public struct AutomaticSync: Sendable {
    let store: Store

    public init(store: Store) { self.store = store }

    /// All of them. None while the store waits for its first restore or backup: the backups may be another store's.
    public var remotes: [RemoteSettings] { store.isQuiet ? [] : store.settings.remotes.filter(\.isAutomatic) }

    /// Those that lack backups of the store, or whose last sync has to be retried; without those that a process uploads to now.
    /// - Parameter retriesNow: whether a failed sync is retried without waiting for its time.
    public func due(retriesNow: Bool) -> [RemoteSettings] {
        let remotes = remotes
        guard !remotes.isEmpty else { return [] }
        // Other processes make backups as well. What cannot be read now is found later.
        _ = try? store.repository.refresh()
        let own = store.ownSnapshots()
        let now = SystemClock.now()
        return remotes.filter { remote in
            let files = RemoteFiles(store.paths, remote: remote.name)
            guard !files.isUploading else { return false }
            let state = RemoteState.read(files.state, url: remote.url)
            let hasNewBackups = !state.pending(own, source: store.source).isEmpty
            return state.isDue(at: now, hasNewBackups: hasNewBackups, isStart: retriesNow)
        }
    }
}
