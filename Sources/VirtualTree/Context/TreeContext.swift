import BackupCore
import BackupRepository
import SnapshotFormats
import Synchronization
import SystemIO

/// The data that every node needs: the services, the repository and how the tree is shown.
final class TreeContext: Sendable {
    let services: any TreeServices
    let repository: Repository
    /// Other users may see the tree (`allow_other`): files then show their own modes, otherwise only the owner's bits.
    let isSharedWithOthers: Bool
    let archives: ArchiveCache
    /// Exact size of a snapshot's archive in bytes. It may require a walk through the snapshot's folders.
    let measureArchive: MeasureArchive
    let places = ChunkLocationCache()
    let snapshotPhotos = SnapshotPhotos()
    let livePhotos = LivePhotoViews()
    let copiedPhotos = CopiedPhotos()
    private let own = SnapshotListCache<[SnapshotKind: [Snapshot]]>()
    private let exportFiles = SnapshotListCache<FlatFiles>()
    private let safetyFiles = SnapshotListCache<FlatFiles>()
    let live: LiveViews
    let announcer = SnapshotAnnouncer()
    /// Of restores, by a file in `restore/`.
    let confirmation: RestoreConfirmation
    let pending = PendingBackups()
    /// Queries the repository, which may not respond.
    private let look: StorageQuery<Look>
    private let wasNewestKnown = Monitor(false)
    private let latestLinks = LatestLinks()
    private let isNotifiedOfChanges = Atomic(false)
    /// The repositories of the store's remotes, as far as they are open.
    let remotes: RemoteContexts
    /// When the tree was mounted: the time of folders without a time of their own.
    let mountTime: Timestamp

    private typealias Look = Result<Void, BackupError>

    /// Snapshots never change: the kernel may cache them as long as it likes (a year, in seconds).
    static let immutableTimeoutSeconds = 31_536_000.0
    /// Other processes can remove a snapshot's name; the kernel keeps it for so long.
    static let snapshotTimeoutSeconds = 1.0

    typealias MeasureArchive = @Sendable (Snapshot, ArchiveFormat, Repository) throws(BackupError) -> UInt64

    init(
        services: any TreeServices, repository: Repository, isSharedWithOthers: Bool,
        measureArchive: @escaping MeasureArchive = ArchiveSizes.size
    ) {
        self.measureArchive = measureArchive
        self.services = services
        self.repository = repository
        self.isSharedWithOthers = isSharedWithOthers
        archives = ArchiveCache()
        remotes = RemoteContexts(services: services, isSharedWithOthers: isSharedWithOthers)
        live = LiveViews(services: services)
        confirmation = RestoreConfirmation(seconds: services.confirmationSeconds)
        look = StorageQuery(repository.patience) { [own, wasNewestKnown] in
            Look { () throws(BackupError) in
                try repository.refresh()
                // First, since the query checks the store, which may belong to another line of backups by now.
                let isNewestKnown = services.isNewestKnown
                _ = own.value(for: repository.snapshots()) { Dictionary(grouping: services.own($0), by: \.kind) }
                // Here, where queries follow each other: a caller that is held up must not replace the result of a later one.
                wasNewestKnown.withLock { $0 = isNewestKnown }
            }
        }
        mountTime = SystemClock.now()
    }

    /// Whether the repository lies elsewhere, and is only shown.
    var isRemote: Bool { repository.isRemote }
    /// Whether nothing of the repository can be changed.
    var isReadOnlyCopy: Bool { repository.isReadOnlyCopy }

    /// The current snapshots, including those of other processes; while the repository does not respond, the last known ones.
    /// - Throws: `inputOutput`, never `notFound`, when the repository is gone with its disk: that does not mean that there are no
    ///   backups.
    func refreshedSnapshots() throws(BackupError) -> [Snapshot] {
        _ = try isRepositoryAnswering()
        return repository.snapshots()
    }

    /// For changes, which must not rely on cached data: they wait longer than reads, unless the storage is known to stall.
    private static let changeNanoseconds: UInt64 = 2_000_000_000
    private static let stallNanoseconds: UInt64 = 5_000_000_000

    /// - Parameter looks: how often `snapshots/` had been opened and read when the kernel locked it for this request, so that a
    ///   program that wants to list it does not wait for long; `nil` if it is not locked.
    /// - Throws: `inputOutput`, also while the repository does not respond.
    func requireRepository(lockedAfter looks: Int? = nil) throws(BackupError) {
        let answer = look.answer(
            forNanoseconds: Self.changeNanoseconds, evenIfOverdueFor: Self.stallNanoseconds,
            unlessHurried: looks.map { looks in { [pending] in pending.looks != looks } })
        guard try isRepositoryAnswering(answer) else {
            throw BackupError(
                .inputOutput, "the repository does not answer", path: repository.path,
                remedy: "Check whether its disk or its server can be reached.")
        }
    }

    /// Determines in advance whose backup the newest one is. Announces nothing.
    func noteNewest() { _ = look.answer() }

    /// Queries the repository and announces changes.
    /// - Returns: false when it does not respond.
    func isRepositoryAnswering() throws(BackupError) -> Bool { try isRepositoryAnswering(look.answer()) }

    private func isRepositoryAnswering(_ answer: Look?) throws(BackupError) -> Bool {
        guard let answer else { return false }
        do {
            try answer.get()
        } catch {
            guard error.code == .notFound || error.code == .noRepository else { throw error }
            throw error.with(
                .inputOutput, "the repository cannot be reached: \(error.message)",
                remedy: "Check that its disk is connected and mounted.")
        }
        announcer.announce(repository.snapshots())
        noteLatest()
        return true
    }

    /// The creation time of the newest known snapshot: used as the time of a folder, which must stay visible even if its
    /// repository is unavailable.
    func newestTime(_ kind: SnapshotKind, ofOwn: Bool) -> Timestamp {
        _ = try? isRepositoryAnswering()
        let known = ofOwn ? (own(of: repository.snapshots())[kind] ?? []) : repository.snapshots(kind: kind)
        return known.last?.creationTime ?? mountTime
    }

    private func own(of snapshots: [Snapshot]) -> [SnapshotKind: [Snapshot]] {
        own.value(for: snapshots) { Dictionary(grouping: services.own($0), by: \.kind) }
    }

    func refreshedSnapshots(_ kind: SnapshotKind) throws(BackupError) -> [Snapshot] {
        try refreshedSnapshots().filter { $0.kind == kind }
    }

    /// This store's own, in the order in which they were made.
    func ownSnapshots(_ kind: SnapshotKind) throws(BackupError) -> [Snapshot] {
        own(of: try refreshedSnapshots())[kind] ?? []
    }

    /// The flat files of this store's own snapshots of a kind. The app's own forms have its export, so a snapshot without one has
    /// no file.
    func flatFiles(_ kind: SnapshotKind) throws(BackupError) -> FlatFiles {
        let snapshots = try ownSnapshots(kind)
        return switch kind {
        case .snapshot:
            exportFiles.value(for: snapshots) { [services] in
                FlatFiles($0.filter { $0.storesExport || services.showsRenderedExport($0) }, services.exportFile)
            }
        case .safety: safetyFiles.value(for: snapshots) { FlatFiles($0, services.safetyFile) }
        }
    }

    /// The export of a snapshot that shows one which it does not store; `nil` for another one.
    func renderedFiles(of snapshot: Snapshot) throws(BackupError) -> RenderedFiles? {
        guard services.showsRenderedExport(snapshot) else { return nil }
        return try services.renderedFiles(of: snapshot, in: repository)
    }

    /// The target of `latest`, from memory. An unfinished backup already counts: a program that
    /// has started it by `mkdir` and continues with `latest` must not get an older one.
    /// - Returns: `nil` when there is none, or when the newest may be another store's: its data must not be restored by mistake.
    private var newest: LatestSnapshot? {
        guard wasNewestKnown.withLock({ $0 }) else { return nil }
        // First: a backup is in the list before it is no longer pending.
        if let backup = pending.shown.last { return LatestSnapshot(name: backup.name, time: backup.startedAt) }
        return own(of: repository.snapshots())[.snapshot]?.last.map { LatestSnapshot(name: $0.name, time: $0.creationTime) }
    }

    /// Compares the link `latest` with what is known of the newest backup, and announces a change. Never waits.
    /// - Returns: the current link; `nil` when there is none.
    @discardableResult
    func noteLatest() -> LatestLinks.Link? {
        latestLinks.update(newest: { newest }, onReplaced: announcer.linkReplaced)
    }

    /// The link `latest` at this moment.
    func latestLink() throws(BackupError) -> LatestLinks.Link? {
        _ = try isRepositoryAnswering()
        return noteLatest()
    }

    /// Call it after each change of the backups, before the program that made it gets its answer: afterwards, the kernel keeps no
    /// outdated target of `latest`. Waits a second at most.
    func settleLatest() {
        _ = try? isRepositoryAnswering()
        noteLatest()
        announcer.waitUntilLinksNotified()
    }

    /// Whether changes of the repository by other processes are noticed as they happen.
    func setNotifiedOfChanges(_ isNotified: Bool) { isNotifiedOfChanges.store(isNotified, ordering: .relaxed) }

    /// How long the kernel may cache which link `latest` is, in seconds: as long as the name of a backup if this process notices
    /// each change and notifies the kernel, and otherwise 0.
    var latestTimeoutSeconds: Double {
        isNotifiedOfChanges.load(ordering: .relaxed) && announcer.notifiesOfLinks ? Self.snapshotTimeoutSeconds : 0
    }

    /// Resumes requests that waited for a backup. If it failed, they must not find it as `latest`.
    var pendingEnded: @Sendable () -> Void {
        { [self] in
            settleLatest()
            announcer.pendingEnded()
        }
    }

    /// Hidden names are probes of file managers and shells: folders of backups never contain any.
    static func hiddenNameTimeoutSeconds(_ name: FileName) -> Double {
        name.bytes.first == UInt8(ascii: ".") ? immutableTimeoutSeconds : 0
    }

    /// Folders are writable by their mode, even where nothing may be written: otherwise the kernel would return EACCES instead of
    /// the correct EROFS.
    var folderPermissions: UInt16 { isSharedWithOthers ? 0o755 : 0o700 }

    var filePermissions: UInt16 { isSharedWithOthers ? 0o644 : 0o600 }

    /// Attributes of a folder that always exists under its name, so that the kernel need not query it for every path through it.
    /// Its contents are queried each time; only its modification time, which another process may change, can lag by a second.
    func folderAttributes(_ inode: InodeNumber, time: Timestamp, isImmutable: Bool = false) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .directory, permissions: folderPermissions, size: 0, modificationTime: time,
            isImmutable: isImmutable, entryTimeoutSeconds: Self.immutableTimeoutSeconds,
            attributeTimeoutSeconds: isImmutable ? Self.immutableTimeoutSeconds : 1)
    }
}

extension NodeAttributes {
    /// The attributes of an entry of a snapshot or of `live/`, from the entry alone: a listing opens nothing. A file is always
    /// readable and, by mode, writable for its owner.
    /// - Parameter isMade: whether this program created it; every user who can access the tree may then read it. Other files have
    ///   their own modes.
    init(_ entry: some ContentEntry, _ inode: InodeNumber, isMade: Bool, isImmutable: Bool, _ context: TreeContext) {
        let isFolder = entry.kind == .directory
        let ownPermissions =
            (UInt16(entry.mode & 0o777) | (isFolder ? 0o700 : 0o600)) & (context.isSharedWithOthers ? 0o777 : 0o700)
        let madePermissions = isFolder ? context.folderPermissions : context.filePermissions
        let timeout = isImmutable ? TreeContext.immutableTimeoutSeconds : 0
        self.init(
            inode: inode, kind: entry.kind,
            permissions: entry.kind == .symbolicLink ? 0o777 : isMade ? madePermissions : ownPermissions, size: entry.size,
            modificationTime: entry.modificationTime, isImmutable: isImmutable, entryTimeoutSeconds: timeout,
            attributeTimeoutSeconds: timeout)
    }
}
