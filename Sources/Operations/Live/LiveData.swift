import AppData
import BackupCore
import Restore
import Synchronization
import SystemIO

/// The app's current data, for `live/`. Rendering costs time and space, so one rendering is reused until the database changes.
public final class LiveData: Sendable {
    private struct State {
        var view: LiveState?
        var databaseState: DatabaseChangeState?
        /// The state of the media folder, if the export depends on it.
        var mediaState: String?
        var restores: RestoreWatch?
    }

    private let store: Store
    private let database: AppDatabase
    private let checksums = LiveChecksums()
    private let media: LiveMediaView?
    private let state = Mutex(State())
    /// The number of renderings attempted, and the error of the last one.
    private let attempts = Mutex<(count: Int, failure: BackupError?)>((0, nil))
    /// Held while rendering, so that concurrent readers share one rendering.
    private let rendering = Mutex(())

    /// - Parameter readsMedia: whether the export contains the checksums of all media files. Files without a backup are read for
    ///   that, which can take long; otherwise only the known checksums are included (decision 26).
    /// - Throws: when the places of database and media folder cannot be examined.
    public init(store: Store, readsMedia: Bool = false) throws(BackupError) {
        self.store = store
        if readsMedia, let catalog = store.database.media as? LiveMediaCatalog {
            database = AppDatabase(
                at: store.database.path, definition: store.definition, media: ReadMediaCatalog(completing: catalog, checksums))
        } else {
            database = store.database
        }
        media = try store.mediaView(checksums)
    }

    /// The media folder alone; `nil` when the app has none.
    public var mediaView: (any LiveView)? { media }

    /// The newest consistent view.
    public func view() throws(BackupError) -> any LiveView {
        if let current = current(database.changeState(), try mediaState()) { return current }
        let seenCount = attempts.withLock { $0.count }
        let outcome: Result<LiveState, BackupError> = rendering.withLock { _ in
            // While the app keeps its database locked, each reader would wait for it in sequence. The error that another reader
            // got meanwhile holds for all.
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

    /// Drops the newest view; open files keep theirs.
    public func letGo() { state.withLock { $0 = State() } }

    private func current(_ databaseState: DatabaseChangeState, _ mediaState: String?) -> LiveState? {
        state.withLock { state in
            guard state.databaseState == databaseState, state.mediaState == mediaState else { return nil }
            // During a restore the old view is shown, so that a listing does not wait for the database.
            return state.restores?.isCurrent == true || RestoreWatch.isUnderWay(store.paths) ? state.view : nil
        }
    }

    private func mediaState() throws(BackupError) -> String? { try database.media?.state() }

    /// An archive with a checksum list contains the export as it is in `live/`. Only archives without a list get all checksums
    /// filled in.
    private var fillsChecksums: Bool {
        database.media is LiveMediaCatalog && store.definition.describesMedia && !store.definition.archiveLayout.isIdentity
    }

    private func render() throws(BackupError) -> LiveState {
        // The database may have changed because another process died during a restore.
        try store.requireFinishedRestore()
        // Read before the data: a commit meanwhile makes the view stale, never the reverse.
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
        let view = LiveState(rendering: made, mediaView: media, of: store, restores)
        state.withLock { $0 = State(view: view, databaseState: databaseState, mediaState: mediaState, restores: restores) }
        return view
    }
}

extension Store {
    /// The app's media folder; `nil` when the app has none.
    func mediaView(_ checksums: LiveChecksums) throws(BackupError) -> LiveMediaView? {
        let amongMedia = try databaseAmongMedia()
        return mediaPath.map { LiveMediaView(LiveMedia(path: $0, amongMedia: amongMedia), checksums) }
    }
}

/// Detects whether a restore has begun or ended since, so that records from before it are not combined with media from after it.
/// Looks at the store's files only and never blocks; the mark of another store's restore is in the database.
struct RestoreWatch: Sendable {
    /// One version of a file.
    private struct Version: Equatable {
        let inode: UInt64
        let changeTime: Timestamp

        init?(_ path: String) {
            guard let status = FileSystem.statusIfPresent(path) else { return nil }
            inode = status.inode
            changeTime = status.changeTime
        }
    }

    private let store: Store
    /// Each restore writes a journal, and a report at its end.
    private let journal: Version?
    private let report: Version?

    init(_ store: Store) {
        self.store = store
        journal = Version(store.paths.restoreJournal)
        report = Version(store.paths.lastRestoreJSON)
    }

    /// Whether no restore has begun or ended since.
    var isCurrent: Bool { journal == Version(store.paths.restoreJournal) && report == Version(store.paths.lastRestoreJSON) }

    /// Whether the records may be new already while the media are still old.
    static func isUnderWay(_ paths: StorePaths) -> Bool { RestoreRecovery.isUnderWay(journalPath: paths.restoreJournal) }

    /// - Throws: `busy` when a restore is running, or has run since.
    func requireNone() throws(BackupError) {
        guard isCurrent, !Self.isUnderWay(store.paths) else {
            throw BackupError(
                .busy, "the app's data is being restored, or was restored just now", path: store.mediaPath ?? store.paths.root,
                remedy: "Try again when the restore has finished.")
        }
        try store.requireNoOtherRestore()
    }
}
