import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// Uploads to one remote what it lacks of the store's repository.
///
/// It takes a lock of the remote, and not that of the store: backups are made meanwhile. What was uploaded before an error, a
/// cancellation or a crash stays, and the next sync goes on there.
public struct SyncOperation: Sendable {
    /// What a sync has done.
    public struct Result: Sendable {
        /// Of all objects.
        public internal(set) var summary: RepositoryMirror.Summary
        /// What is damaged in the repository and was not uploaded, and what is damaged in the remote and could not be replaced;
        /// `nil` when the mirror is complete.
        public let damage: BackupError?
        /// Backups that the rules of the remote have removed there.
        public internal(set) var removed: [Snapshot] = []
        /// Bytes that became free in the remote.
        public internal(set) var freedBytes: UInt64 = 0
        /// Why nothing was removed although the rules would have removed something, or why no space was freed. The upload is
        /// complete all the same.
        public internal(set) var notice: BackupError?
        /// `nil` unless it was asked for.
        public internal(set) var verification: RepositoryMirror.Verification?
    }

    private let store: Store
    private let remote: RemoteSettings
    private let isAutomatic: Bool
    private let verified: DataSubset?
    private let earlier: [RemoteLookAhead]
    private let files: RemoteFiles

    /// - Parameters:
    ///   - isAutomatic: whether no user has asked for it.
    ///   - verified: the packs in the remote that are read and compared with their checksums; `nil` for none.
    ///   - earlier: looks at remotes that were begun before.
    public init(
        store: Store, remote: RemoteSettings, isAutomatic: Bool = false, verifying verified: DataSubset? = nil,
        after earlier: [RemoteLookAhead] = []
    ) {
        self.earlier = earlier
        self.store = store
        self.remote = remote
        self.isAutomatic = isAutomatic
        self.verified = verified
        files = RemoteFiles(store.paths, remote: remote.name)
    }

    /// - Throws: `busy` while another sync of the remote runs, which changes nothing; `interrupted`; with the texts of
    ///   `RemoteMessages` the errors of the storage; those of `RepositoryMirror`. The state of the remote has the error then, and
    ///   that the sync is to be retried.
    public func run(progress: ProgressHandler? = nil) throws(BackupError) -> Result {
        try store.recorded(.sync, isAutomatic: isAutomatic) { (facts) throws(BackupError) in
            facts.remote = remote.name
            let lock = try LockTimeout.waiting { () throws(BackupError) in try files.lock(remote.name) }
            defer { withExtendedLifetime(lock) {} }
            let stateFile = FileSystem.statusIfPresent(files.state)
            var state = RemoteState.read(files.state, url: remote.url)
            // With new backups, it is due after a power cut in any case.
            let mustBeDurable = state.pending(store.ownSnapshots(), source: store.source).isEmpty
            state.noteBeginning()
            try? state.write(to: files.state, isDurable: mustBeDurable)
            let watch = RemoteWatch(remote, in: store.paths)
            // A power cut that takes this away leaves a sync to be done, or a state that is unknown.
            defer { if !watch.isGone { try? state.write(to: files.state, isDurable: state.failure != nil) } }
            do throws(BackupError) {
                let (result, position) = try cancellable(watch) { () throws(BackupError) in
                    try upload(stateFile, hadCopy: state.syncedAt != nil, progress)
                }
                facts.sizeBytes = result.summary.uploadedBytes
                state.note(result.removed.count, result.notice, at: SystemClock.now())
                if let damage = result.damage {
                    facts.note(damage)
                    (facts.result, facts.fileKind) = (.failed, .repository)
                    state.note(damage, at: SystemClock.now())
                } else {
                    state.noteSuccess(result.summary, position: position, at: SystemClock.now())
                }
                return result
            } catch {
                state.note(error, at: SystemClock.now())
                throw watch.explaining(error)
            }
        }
    }

    /// In a command, a signal cancels it; in a mount, the end of the mount.
    private func cancellable<Value>(
        _ watch: RemoteWatch, _ body: () throws(BackupError) -> Value
    ) throws(BackupError) -> Value {
        let cancellation = Cancellation(within: .current) { watch.look() }
        return try CancellingSignals.run { () throws(BackupError) in try cancellation.run(body) }
    }

    /// - Parameter hadCopy: whether a sync has ended well at this place.
    private func upload(
        _ stateFile: FileStatus?, hadCopy: Bool, _ progress: ProgressHandler?
    ) throws(BackupError) -> (Result, SyncedPosition) {
        var messages = RemoteMessages(label: remote.shownLabel, location: remote.url)
        do throws(BackupError) {
            progress?(OperationProgress(phase: "Connecting..."))
            let known = try look(stateFile)
            let storage: any ObjectStorage
            if let known { storage = known.storage } else { storage = try remote.open(in: store.paths) }
            messages.location = storage.location
            let found = hadCopy ? try requireCopy(in: storage, known?.look) : known?.look
            try store.repository.refresh()
            // Before the mirror lists the backups: one that is made meanwhile counts as pending, also if it is uploaded.
            let position = SyncedPosition(endOf: store.ownSnapshots(), source: store.source)
            let copy = try? RemoteCopy(remote, in: store.paths)
            let mirror = RepositoryMirror(
                of: store.repository, in: storage, stateFolder: files.indexes, keeping: copy?.uploads(from: store.repository))
            let cleaning = RemoteCleaning(store: store, remote: remote, isAutomatic: isAutomatic)
            let selection = cleaning.selection(isThorough: verified != nil)
            let before = files.readMirrorState()
            var state = before
            defer { files.write(state, isDurable: selection.isPartial && state != before) }
            let summary = try mirror.update(
                &state, selecting: selection, beginningWith: found, progress: progress
            ) { (size) throws(BackupError) in try requireSpace(size, storage) }
            if let copy { prepareLooks(copy) }
            let verification = try verified.map { (subset) throws(BackupError) in
                try mirror.verify(cleaning.refreshedCopy(), subset, progress: progress)
            }
            var result = Result(
                summary: summary, damage: damage(summary.unreadable) ?? verification.flatMap { damage($0, at: storage.location) })
            result.verification = verification
            try cleaning.run(&result, in: storage, progress)
            return (result, position)
        } catch {
            throw isLocal(error, messages.location) ? error : messages.uploading(error)
        }
    }

    /// A disk that is not mounted may leave an empty folder in its place. A new copy there would fill the disk of this machine,
    /// and take the place of the one that is elsewhere.
    /// - Returns: the look at the folder; for a server the given one.
    private func requireCopy(in storage: any ObjectStorage, _ known: MirrorLook?) throws(BackupError) -> MirrorLook? {
        guard storage is FolderStorage else { return known }
        let found: MirrorLook
        if let known { found = known } else { found = try RepositoryMirror.look(at: storage) }
        guard found.hasMirror else {
            throw BackupError(
                .offline, "the copy that was in this folder is not there", path: storage.location,
                remedy:
                    "Mount its disk. To begin a new copy in this folder, remove the remote and add it again: backupfs remote remove \(remote.name)"
            )
        }
        return found
    }

    private func look(_ stateFile: FileStatus?) throws(BackupError) -> (storage: any ObjectStorage, look: MirrorLook)? {
        for one in earlier { if let found = try one.found(for: remote, stateFile) { return found } }
        return nil
    }

    /// After the first upload, asks the remote what is there, so that later looks at the copy need not wait for it. What the
    /// uploads have kept is not transferred again. Errors are ignored: the first look does it then.
    private func prepareLooks(_ copy: RemoteCopy) {
        guard !copy.isCached, (try? copy.readNews()) != nil else { return }
        // Builds the catalog.
        _ = try? copy.open(copyOf: store.repository)
    }

    /// Whether an error is about a file of the store or its repository: a full disk here is not a full remote.
    private func isLocal(_ error: BackupError, _ location: String?) -> Bool {
        func isBelow(_ folder: String) -> Bool { error.path.map { $0 == folder || $0.hasPrefix("\(folder)/") } ?? false }
        if let location, isBelow(location) { return false }
        return isBelow(store.repository.path) || isBelow(store.paths.root)
    }

    /// Compares what lies there and is to come with the quota and, for a folder, with its disk, so that an upload that cannot end
    /// well does not fill either.
    private func requireSpace(_ size: RepositoryMirror.Size, _ storage: any ObjectStorage) throws(BackupError) {
        guard size.missingBytes > 0 else { return }
        if let quotaBytes = remote.quotaBytes, size.storedBytes.addingSaturating(size.missingBytes) > quotaBytes {
            throw BackupError(
                .noSpace,
                "the quota in the settings is \(quotaBytes) bytes; \(size.storedBytes) are used, and \(size.missingBytes) would be added",
                path: storage.location)
        }
        if let folder = storage as? FolderStorage {
            let availableBytes = try FileSystem.space(at: folder.location).availableBytes
            guard size.missingBytes <= availableBytes else {
                throw BackupError(
                    .noSpace, "the disk has \(availableBytes) bytes free, and \(size.missingBytes) would be added",
                    path: storage.location)
            }
        }
    }

    private func damage(_ unreadable: [BackupError]) -> BackupError? {
        guard !unreadable.isEmpty else { return nil }
        return BackupError(
            .repositoryDamaged,
            .plural(
                unreadable.count, one: "\(unreadable.count) file of the repository is damaged and was not uploaded",
                other: "\(unreadable.count) files of the repository are damaged and were not uploaded"),
            path: store.repository.path, remedy: "See what is affected with: backupfs check",
            findings: unreadable.map(\.summary))
    }

    private func damage(_ verification: RepositoryMirror.Verification, at location: String) -> BackupError? {
        let damages = verification.damages
        guard !damages.isEmpty else { return nil }
        return BackupError(
            .repositoryDamaged,
            .plural(
                damages.count, one: "\(damages.count) pack there is damaged and could not be uploaded again from here",
                other: "\(damages.count) packs there are damaged and could not be uploaded again from here"),
            path: location, remedy: "See which backups are affected with: backupfs check --read-data --remote \(remote.name)",
            findings: damages.map(\.summary))
    }
}
