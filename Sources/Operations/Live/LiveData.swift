import AppData
import BackupCore
import Synchronization
import SystemIO

/// The app's data as it is now, for `live/`. Rendering costs time and space, so one rendering serves until the database changes.
public final class LiveData: Sendable {
    private struct State {
        var view: LiveState?
        var databaseState: DatabaseChangeState?
        /// Of the media folder, when the records tell of it.
        var mediaState: String?
    }

    private let store: Store
    private let checksums = LiveChecksums()
    private let media: LiveMediaView?
    private let state = Mutex(State())
    /// Held while rendering, so that many readers who ask at once render once.
    private let rendering = Mutex(())

    /// - Throws: what keeps the places of database and media folder from being looked at.
    public init(store: Store) throws(BackupError) {
        self.store = store
        let amongMedia = try store.databaseAmongMedia()
        media = store.mediaPath.map { [checksums] in
            LiveMediaView(LiveMedia(path: $0, amongMedia: amongMedia), checksums)
        }
    }

    /// The media folder alone; `nil` when the app has none.
    public var mediaView: (any LiveView)? { media }

    /// The newest consistent view.
    public func view() throws(BackupError) -> any LiveView {
        if let current = current(store.database.changeState(), try mediaState()) { return current }
        let outcome: Result<LiveState, BackupError> = rendering.withLock { _ in
            Result { () throws(BackupError) in try render() }
        }
        return try outcome.get()
    }

    private func current(_ databaseState: DatabaseChangeState, _ mediaState: String?) -> LiveState? {
        state.withLock { $0.databaseState == databaseState && $0.mediaState == mediaState ? $0.view : nil }
    }

    private func mediaState() throws(BackupError) -> String? { try store.database.media?.state() }

    private func render() throws(BackupError) -> LiveState {
        // The database may have changed because another process restored and died half way.
        try store.requireFinishedRestore()
        // Taken before reading: what is committed meanwhile makes the view old, never the other way round.
        let databaseState = store.database.changeState()
        let mediaState = try mediaState()
        if let current = current(databaseState, mediaState) { return current }
        try store.database.check()
        let made = try store.withWorkFolder { (folder) throws(BackupError) in
            try AppRendering(of: store.database, in: folder, createdAt: SystemClock.now().wholeSeconds)
        }
        let view = LiveState(rendering: made, mediaView: media, checksums: checksums, of: store)
        state.withLock { $0 = State(view: view, databaseState: databaseState, mediaState: mediaState) }
        return view
    }
}
