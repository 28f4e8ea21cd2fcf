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
        var restores: RestoreWatch?
    }

    private let store: Store
    private let database: AppDatabase
    private let checksums = LiveChecksums()
    private let media: LiveMediaView?
    private let state = Mutex(State())
    /// How many renderings were tried, and how the last one failed.
    private let attempts = Mutex<(count: Int, failure: BackupError?)>((0, nil))
    /// Held while rendering, so that many readers who ask at once render once.
    private let rendering = Mutex(())

    /// - Parameter readsMedia: whether the export tells the checksums of all media files. Those that no backup has yet are read for that, which takes as
    ///   long as reading them; otherwise it tells what is known already (decision 26).
    /// - Throws: what keeps the places of database and media folder from being looked at.
    public init(store: Store, readsMedia: Bool = false) throws(BackupError) {
        self.store = store
        if readsMedia, let catalog = store.database.media as? LiveMediaCatalog {
            database = AppDatabase(
                at: store.database.path, definition: store.definition, media: ReadMediaCatalog(completing: catalog, checksums))
        } else {
            database = store.database
        }
        let amongMedia = try store.databaseAmongMedia()
        media = store.mediaPath.map { [checksums] in
            LiveMediaView(LiveMedia(path: $0, amongMedia: amongMedia), checksums)
        }
    }

    /// The media folder alone; `nil` when the app has none.
    public var mediaView: (any LiveView)? { media }

    /// The newest consistent view.
    public func view() throws(BackupError) -> any LiveView {
        if let current = current(database.changeState(), try mediaState()) { return current }
        let seenCount = attempts.withLock { $0.count }
        let outcome: Result<LiveState, BackupError> = rendering.withLock { _ in
            // While the app keeps its database locked, each would wait for it in turn. What another has found out meanwhile is true for all.
            let last = attempts.withLock { $0 }
            if last.count != seenCount, let failure = last.failure, failure.code == .databaseInUse || failure.code == .busy {
                return .failure(failure)
            }
            let outcome = Result { () throws(BackupError) in try render() }
            attempts.withLock { attempts in
                attempts.count += 1
                if case .failure(let failure) = outcome { attempts.failure = failure } else { attempts.failure = nil }
            }
            return outcome
        }
        return try outcome.get()
    }

    /// Forgets the newest view; files that are open keep theirs.
    public func letGo() { state.withLock { $0 = State() } }

    private func current(_ databaseState: DatabaseChangeState, _ mediaState: String?) -> LiveState? {
        state.withLock { state in
            guard state.databaseState == databaseState, state.mediaState == mediaState else { return nil }
            // While a restore is under way the old view is shown: whoever lists it does not wait for the database.
            return state.restores?.isCurrent == true || RestoreWatch.isUnderWay(store.paths) ? state.view : nil
        }
    }

    private func mediaState() throws(BackupError) -> String? { try database.media?.state() }

    /// An archive that has a list of all its files' checksums has that of the export as it lies beside it.
    private var fillsChecksums: Bool {
        database.media is LiveMediaCatalog && store.definition.tellsOfMedia && !store.definition.archiveLayout.isIdentity
    }

    private func render() throws(BackupError) -> LiveState {
        // The database may have changed because another process restored and died half way.
        try store.requireFinishedRestore()
        // Taken before reading: what is committed meanwhile makes the view old, never the other way round.
        let restores = RestoreWatch(store)
        let databaseState = database.changeState()
        let mediaState = try mediaState()
        if let current = current(databaseState, mediaState) { return current }
        try database.check()
        try FaultInjection.reached("live.rendering")
        let made = try store.withWorkFolder { (folder) throws(BackupError) in
            try AppRendering(
                of: database, in: folder, createdAt: SystemClock.now().wholeSeconds, fillsChecksums: fillsChecksums)
        }
        let view = LiveState(rendering: made, mediaView: media, checksums: checksums, of: store, restores)
        state.withLock { $0 = State(view: view, databaseState: databaseState, mediaState: mediaState, restores: restores) }
        return view
    }
}
