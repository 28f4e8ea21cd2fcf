import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// What every node needs: the services, the repository and how the tree is shown.
final class TreeContext: Sendable {
    let services: any TreeServices
    let repository: Repository
    /// Other users may see the tree (`allow_other`): then files show their own modes, otherwise only the owner's bits.
    let isSharedWithOthers: Bool
    let archives: ArchiveCache
    let places = PlaceCache()
    private let own = PerList<[SnapshotKind: [Snapshot]]>()
    let exportFiles = PerList<FlatFiles>()
    let safetyFiles = PerList<FlatFiles>()
    let live: LiveViews
    let announcer = SnapshotAnnouncer()
    let pending = PendingBackups()
    /// Looks at the repository, which may not answer.
    private let look: PatientQuestion<Look>
    private let wasNewestKnown = Mutex(false)
    /// When the tree was mounted: the time of folders that have no other.
    let mountTime: Timestamp

    /// What a look at the repository has to say beside the list of snapshots: whether the newest is this store's for certain.
    private typealias Look = Result<Bool, BackupError>

    /// Snapshots never change: the kernel may keep what it knows of them for as long as it likes (a year, in seconds).
    static let immutableTimeoutSeconds = 31_536_000.0
    /// A snapshot's name can be taken away by others, who tell the kernel at once if they are on this machine.
    static let snapshotTimeoutSeconds = 1.0

    init(services: any TreeServices, repository: Repository, isSharedWithOthers: Bool) {
        self.services = services
        self.repository = repository
        self.isSharedWithOthers = isSharedWithOthers
        archives = ArchiveCache()
        live = LiveViews(services: services)
        look = PatientQuestion(repository.patience) { [own] in
            Look { () throws(BackupError) in
                try repository.refresh()
                // First, since the store is looked at for it, and may be another line's by now.
                let isNewestKnown = services.isNewestKnown
                _ = own.value(for: repository.snapshots()) { Dictionary(grouping: services.own($0), by: \.kind) }
                return isNewestKnown
            }
        }
        mountTime = SystemClock.now()
    }

    /// The snapshots as they are now, also those that other processes made; while the repository does not answer, as they were when it did.
    /// - Throws: `inputOutput`, never `notFound`, when the repository is gone with its disk: that does not mean that there are no backups.
    func refreshedSnapshots() throws(BackupError) -> [Snapshot] {
        _ = try isRepositoryAnswering()
        return repository.snapshots()
    }

    /// For changes, which must not go by what was: they wait longer than looks, unless it is known that the storage stalls.
    private static let changeNanoseconds: UInt64 = 2_000_000_000
    private static let stallNanoseconds: UInt64 = 5_000_000_000

    /// - Parameter looks: how often `snapshots/` had been opened and read when the kernel locked it for this, so that a program that wants to list it does not wait for
    ///   long; `nil` where it is not locked.
    /// - Throws: `inputOutput` also while the repository does not answer.
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

    /// Finds out whose the newest backup is, before anybody asks. Nothing is new by that.
    func noteNewest() {
        guard let isNewestKnown = try? look.answer()?.get() else { return }
        wasNewestKnown.withLock { $0 = isNewestKnown }
    }

    /// Looks at the repository and notes what is new there.
    /// - Returns: false when it does not answer.
    func isRepositoryAnswering() throws(BackupError) -> Bool { try isRepositoryAnswering(look.answer()) }

    private func isRepositoryAnswering(_ answer: Look?) throws(BackupError) -> Bool {
        guard let answer else { return false }
        do {
            let isNewestKnown = try answer.get()
            wasNewestKnown.withLock { $0 = isNewestKnown }
        } catch {
            guard error.code == .notFound || error.code == .noRepository else { throw error }
            throw BackupError(
                .inputOutput, "the repository cannot be reached: \(error.message)", path: error.path,
                remedy: "Check whether its disk is there, and mounted.")
        }
        announcer.announce(repository.snapshots())
        return true
    }

    /// When the newest one that is known was made: the time of a folder, which must not be hidden with its repository.
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

    /// What `latest` names at this moment. A backup that is not finished counts already: a program that has begun it by `mkdir` and goes on with
    /// `latest` must not be given an older one.
    /// - Returns: `nil` when there is none, or the newest may be another store's: its data must not be restored by mistake.
    func latestSnapshot() throws(BackupError) -> LatestSnapshot? {
        let newest = try ownSnapshots(.snapshot).last
        guard wasNewestKnown.withLock({ $0 }) else { return nil }
        if let backup = pending.shown.last { return LatestSnapshot(name: backup.name, time: backup.startedAt) }
        return newest.map { LatestSnapshot(name: $0.name, time: $0.creationTime) }
    }

    /// Lets go on what has waited for a backup.
    var pendingEnded: @Sendable () -> Void { { [announcer] in announcer.pendingEnded() } }

    /// Folders are writable by their mode, also where nothing may be written: otherwise the kernel would say EACCES
    /// where EROFS is the truth.
    var folderPermissions: UInt16 { isSharedWithOthers ? 0o755 : 0o700 }

    var filePermissions: UInt16 { isSharedWithOthers ? 0o644 : 0o600 }

    /// The permissions a stored or live file is shown with: always readable and, by mode, writable for its owner.
    /// - Parameter isMade: it was made by this program: whoever may look into the tree may read it. Others have modes of their own.
    func permissions(_ mode: UInt32, isFolder: Bool, isMade: Bool) -> UInt16 {
        if isMade { return isFolder ? folderPermissions : filePermissions }
        let owner: UInt16 = isFolder ? 0o700 : 0o600
        return (UInt16(mode & 0o777) | owner) & (isSharedWithOthers ? 0o777 : 0o700)
    }

    /// Attributes of a folder that is always there under its name, so that the kernel need not ask for it on every path that leads through
    /// it. What is in it is asked for each time; only its modification time, which another process may move, can lag for a second.
    func folderAttributes(_ inode: InodeNumber, time: Timestamp, isImmutable: Bool = false) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .directory, permissions: folderPermissions, size: 0, modificationTime: time,
            isImmutable: isImmutable, entryTimeoutSeconds: Self.immutableTimeoutSeconds,
            attributeTimeoutSeconds: isImmutable ? Self.immutableTimeoutSeconds : 1)
    }
}
