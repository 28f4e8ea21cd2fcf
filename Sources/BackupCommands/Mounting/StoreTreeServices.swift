import AppData
import BackupCore
import BackupRepository
import CopyVerify
import FUSEBridge
import Formats
import Operations
import Photos
import Restore
import SnapshotFormats
import Synchronization
import SystemIO
import VirtualTree

/// Serves the mounted tree's requests with the operations.
final class StoreTreeServices: TreeServices {
    private let store: Store
    private let live: LiveData
    /// Computes the whole status, since the store may be on stalling storage as well.
    private let state: StorageQuery<Result<StoreState, BackupError>>
    /// The same while the records have never been read; it waits longer for them.
    private let firstState: StorageQuery<Result<StoreState, BackupError>>
    private let lastState = Mutex<StoreState?>(nil)
    private let mountedAt = SystemClock.now()
    private let backups: MountBackup
    private let copies: RemoteCopies
    private let photos: LivePhotos?
    private let rendered: RenderedSnapshots
    let recordHistories: any RecordHistoryView
    /// Ended with the mount.
    let controls: ControlHost
    /// Ended with the mount.
    let jobs: JobHost
    /// Ended with the mount.
    let copySets: CopySetHost
    /// Kept copies of photos that were read and found intact, as they were then.
    private let intactCopies = Mutex<[SHA256Digest: FileStatus]>([:])

    /// A little longer than the waits inside the status itself.
    private static let stateNanoseconds: UInt64 = 300_000_000
    private static let firstNanoseconds: UInt64 = 1_000_000_000
    /// While the repository does not respond, which the status waits for as well.
    private static let shortNanoseconds: UInt64 = 75_000_000

    /// - Throws: when the remains of an earlier mount cannot be cleared from the spool.
    init(store: Store) throws(BackupError) {
        self.store = store
        copies = RemoteCopies(store: store)
        backups = MountBackup(store: store)
        controls = ControlHost(store: store, backups: backups)
        jobs = JobHost(store: store)
        copySets = CopySetHost(store: store)
        live = try LiveData(store: store)
        rendered = RenderedSnapshots(store: store)
        recordHistories = RecordHistories(of: store)
        photos = try LivePhotos(store: store)
        let ask: @Sendable () -> Result<StoreState, BackupError> = {
            Result { () throws(BackupError) in try StoreState(of: store, isPatient: false) }
        }
        state = StorageQuery(StorageTimeout(nanoseconds: Self.stateNanoseconds), ask: ask)
        firstState = StorageQuery(StorageTimeout(nanoseconds: Self.firstNanoseconds), ask: ask)
        // The mount lock is held, so no other mount can have dropped files here.
        try clearSpool()
        // Backups do not need it: what cannot be removed now is tried again by the next mount.
        try? QueueFolder(root: store.paths.photos).copies.sweepDrafts()
        // The storage may no longer respond when the status is first requested. The app's database is left alone: no program has
        // asked for it.
        try? SystemThread { [self] in
            guard let known = try? StoreState(of: store, isPatient: false, asksDatabase: false) else { return }
            lastState.withLock { $0 = $0 ?? known }
        }.detach()
    }

    /// Removes dropped files once they are no longer served. Files that were neither restored nor refused may be the only copies,
    /// and are kept.
    func clearSpool() throws(BackupError) {
        let outcome = try RemainingDrops.clear(store.paths.spool, keepingIn: store.paths.leftFiles)
        if let failure = outcome.failure { Terminal.writeError("backupfs: \(failure.description)") }
        guard !outcome.kept.isEmpty else { return }
        let names = outcome.kept.map(\.description).joined(separator: ", ")
        Terminal.writeError("warning: files in restore/ were never restored. They are kept in \(store.paths.leftFiles): \(names)")
    }

    /// Calls `body` after each backup that a request has made, on the thread of the request.
    func afterBackups(_ body: @escaping @Sendable () -> Void) { backups.afterBackups(body) }

    var storePath: String { store.paths.root }

    func readme() -> [UInt8] { store.readme }

    func recordsPage(of snapshot: Snapshot, exportSizeBytes: UInt64) -> (head: [UInt8], hasExport: Bool) {
        let head = RecordsPage(of: snapshot, in: store).head(exportSizeBytes: exportSizeBytes)
        return (head, exportSizeBytes <= RecordsPage.exportLimitBytes)
    }

    func text(_ message: Message) -> String { store.language.text(message) }

    func status() throws(BackupError) -> [UInt8] { try StatusDocument(currentState(), of: store).json.prettyText }

    func dashboard() throws(BackupError) -> [UInt8] {
        DashboardPage.prepare(store)
        return try DashboardPage(currentState(), of: store).html
    }

    private func currentState() throws(BackupError) -> StoreState {
        if let answer = answeredState() {
            let state = try answer.get()
            lastState.withLock { $0 = state }
            return state
        }
        let error = BackupError(
            .inputOutput, "the storage that the store is on does not answer",
            remedy: "Check whether its disk or its server can be reached.")
        return lastState.withLock { $0 }?.unanswered(error) ?? StoreState(remembering: store, error)
    }

    private func answeredState() -> Result<StoreState, BackupError>? {
        let patience = store.repository.patience
        // This access to the mount, or another one, has already waited for it.
        if patience.isOverdue { return state.answer(forNanoseconds: Self.shortNanoseconds) }
        if let answer = state.answer() { return answer }
        return store.hasReadRecords || patience.isOverdue ? nil : firstState.answer()
    }

    func liveView() throws(BackupError) -> any LiveView { try live.view() }

    func letGoOfLiveView() { live.letGo() }

    func liveMedia() -> (any LiveView)? { live.mediaView }

    var hasPhotos: Bool { photos != nil }

    func livePhotos() throws(BackupError) -> PhotoIndex {
        guard let photos else { throw BackupError(.notFound, "there is no such file or folder", path: "photos") }
        return try photos.index()
    }

    func knownPhoto(path: [UInt8], sizeBytes: UInt64, modificationTime: Timestamp) -> PhotoRecord? {
        photos?.known(path: path, sizeBytes: sizeBytes, modificationTime: modificationTime)
    }

    var mediaFolderPath: String? { store.mediaPath }

    private func stars() throws(BackupError) -> StarredPhotos { try StarredPhotos(store) }

    private func shown(_ item: QueueItem, _ name: FileName, _ copies: KeptCopies) throws(BackupError) -> StarredPhoto {
        var copy: StarredPhoto.Copy?
        if let sha256 = item.copy, let status = try copies.status(of: sha256) {
            copy = StarredPhoto.Copy(sha256: sha256, sizeBytes: status.size, modificationTime: status.modificationTime)
        }
        return StarredPhoto(path: item.path, name: name, status: item.stage.text, starredAt: item.queuedAt, copy: copy)
    }

    func starredPhotos() throws(BackupError) -> [StarredPhoto] {
        let copies = try stars().queue.copies
        return try store.starList.stars().map { (star) throws(BackupError) in try shown(star.item, star.name, copies) }
    }

    func starredPhoto(named name: FileName) throws(BackupError) -> StarredPhoto? {
        let copies = try stars().queue.copies
        return try store.starList.star(named: name).map { (star) throws(BackupError) in
            try shown(star.item, star.name, copies)
        }
    }

    func star(ofPhoto path: [UInt8]) throws(BackupError) -> StarredPhoto? {
        guard let path = String(validating: path, as: UTF8.self) else { return nil }
        let stars = try stars()
        return try stars.star(of: path).map { (item) throws(BackupError) in
            try shown(item, FileName(FileSystem.lastComponent(item.path)), stars.queue.copies)
        }
    }

    func setStarred(photo path: [UInt8], _ isStarred: Bool) throws(BackupError) {
        guard let path = String(validating: path, as: UTF8.self) else {
            throw BackupError(.invalidArgument, "its name is not UTF-8", path: MessageText.name(path))
        }
        defer { store.starList.noteChange() }
        _ = isStarred ? try stars().star(path) : try stars().unstar(path, acceptsBackups: false)
    }

    func cancelPhoto(queueFile name: FileName) throws(BackupError) {
        guard let id = QueueFolder.id(ofFile: name), let item = try stars().queue.queuedItem(id) else {
            throw BackupError(.notFound, "there is no such file or folder", path: name.description)
        }
        try setStarred(photo: Array(item.path.utf8), false)
    }

    func makePhotoDraft() throws(BackupError) -> CopyDraft { try stars().queue.copies.makeDraft() }

    func starPhoto(
        _ draft: CopyDraft, named name: FileName, over starred: StarredPhoto?, if isWanted: () -> Bool
    ) throws(BackupError) -> SHA256Digest {
        guard let photos else { throw BackupError(.notFound, "there is no such file or folder", path: "photos") }
        do throws(BackupError) {
            let replaced = starred.flatMap { star in star.copy.map { (path: star.path, copy: $0.sha256) } }
            let stars = try stars()
            defer { store.starList.noteChange() }
            return try stars.star(draft, named: name, over: replaced, if: isWanted) { (content, sizeBytes) throws(BackupError) in
                try photos.photo(withContent: content, sizeBytes: sizeBytes, named: name, where: stars.canCopy)
            }
        } catch {
            // close(2) can only return a number.
            Terminal.writeError("backupfs: the photo cannot be starred. \(error.fullText)")
            throw error
        }
    }

    func setAside(_ draft: CopyDraft, named name: FileName) {
        // Nothing to keep: some programs create a file, and write nothing.
        if let size = try? draft.status().size, size == 0 { return draft.discard() }
        do throws(BackupError) {
            let path = try draft.setAside()
            Terminal.writeError("warning: the copy \(name) in photos/starred/ has no star. Its bytes are kept in \(path)")
        } catch {
            Terminal.writeError("backupfs: the bytes of \(name) in photos/starred/ are in no safe place. \(error.fullText)")
        }
    }

    func openKeptPhoto(_ sha256: SHA256Digest, orPhoto path: String?) throws(BackupError) -> SharedFile {
        let stars = try stars()
        if let file = try stars.queue.copies.open(sha256) {
            let status = try file.status()
            if intactCopies.withLock({ $0[sha256] }) == status { return file }
            if try file.sha256() == sha256 {
                intactCopies.withLock { $0[sha256] = status }
                return file
            }
        }
        if let path, let file = try stars.folder.file(with: sha256, at: path) { return file }
        guard try stars.queue.copies.status(of: sha256) != nil else {
            throw BackupError(.notFound, "the copy of this photo is not kept any more", path: path ?? sha256.hexadecimal)
        }
        throw BackupError(
            .damagedContent, "the copy that the store keeps of this photo is damaged", path: path ?? sha256.hexadecimal,
            remedy: "Copy the photo again from where it came from.")
    }

    func photoQueueFiles(in folder: PhotoQueueFolder?) throws(BackupError) -> [FileName] {
        let queue = try stars().queue
        switch folder {
        case .queue: return queue.exists ? try queue.queuedIDs().map { FileName("\($0).json") } : []
        case .status: return try FileSystem.exists(queue.status) ? [FileName(FileSystem.lastComponent(queue.status))] : []
        case nil: return try FileSystem.exists(queue.catalog) ? [FileName(FileSystem.lastComponent(queue.catalog))] : []
        }
    }

    func hasPhotoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> Bool {
        guard folder == .queue else { return try photoQueueFiles(in: folder).contains(name) }
        guard let id = QueueFolder.id(ofFile: name) else { return false }
        return try stars().queue.queuedIDExists(id)
    }

    func photoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> [UInt8] {
        guard try hasPhotoQueueFile(name, in: folder) else {
            throw BackupError(.notFound, "there is no such file or folder", path: name.description)
        }
        let queue = try stars().queue
        let path =
            switch folder {
            case .queue: "\(queue.queue)/\(name)"
            case .status: queue.status
            case nil: queue.catalog
            }
        return try FileSystem.readFile(path, limitBytes: 1 << 30)
    }

    func control(_ verb: ControlVerb, _ argument: String) throws(BackupError) { try controls.ask(verb, argument) }

    func controlText(_ verb: ControlVerb) -> ReportText {
        let (text, time) = controls.text(verb, in: store.language)
        return ReportText(name: verb.rawValue, content: Array("\(text)\n".utf8), modificationTime: time)
    }

    func controlState(_ verb: ControlVerb) -> ControlState? { controls.state(of: verb) }

    func reportNames() throws(BackupError) -> [FileName] {
        try ReportFolder(storeAt: store.paths.root).names().flatMap { name in
            ReportFolder.Form.allCases.map { FileName("\(name).\($0.rawValue)") }
        }
    }

    func report(_ name: FileName) throws(BackupError) -> ReportText {
        let parts = name.description.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let form = parts.last.flatMap({ ReportFolder.Form(rawValue: String($0)) }) else {
            throw BackupError(.notFound, "there is no such file or folder", path: name.description)
        }
        let (content, time) = try ReportFolder(storeAt: store.paths.root).report(
            parts.dropLast().joined(separator: "."), as: form, in: store.language)
        return ReportText(name: name.description, content: content, modificationTime: time)
    }

    var jobsPath: String { store.paths.jobs }

    func askJob(_ name: FileName, _ request: [UInt8]) throws(BackupError) {
        do throws(BackupError) {
            try jobs.ask(name, request)
        } catch {
            // close(2) can only return a number.
            Terminal.writeError("backupfs: the job \(name) was asked in vain. \(error.fullText)")
            throw error
        }
    }

    var copySetNames: [String] { copySets.names }

    func copySet(named name: String) throws(BackupError) -> CopySet? { copySets.set(named: name) }

    var makeDirectoryWaitSeconds: Double? { store.makeDirectoryWait.seconds }

    func createSnapshot(named name: String, _ milestones: BackupMilestones) throws(BackupError) -> MadeSnapshot {
        let result = try backups.make(label: name, milestones: milestones)
        return MadeSnapshot(id: result.snapshot.id, incompleteness: result.incompleteness ?? result.renaming)
    }

    func removeSnapshot(_ snapshot: Snapshot) throws(BackupError) { try store.removeSnapshot(snapshot) }

    func renameSnapshot(_ snapshot: Snapshot, to name: FileName) throws(BackupError) {
        try store.renameSnapshot(snapshot, to: name)
    }

    func setPinned(_ snapshot: Snapshot, _ isPinned: Bool) throws(BackupError) { try store.setPinned(snapshot, isPinned) }

    func own(_ snapshots: [Snapshot]) -> [Snapshot] { store.ownAsRemembered(snapshots) }

    var isNewestKnown: Bool { !store.hasSuccessor }

    var remoteNames: [String] { copies.names }

    func remoteRepository(named name: String) throws(BackupError) -> Repository { try copies.repository(of: name) }

    func showsRenderedExport(_ snapshot: Snapshot) -> Bool { rendered.shows(snapshot) }

    func renderedFiles(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> RenderedFiles? {
        try rendered.files(of: snapshot, in: repository)
    }

    func letGoOfRenderedFiles(idleSeconds: Double) { rendered.letGo(idleSeconds: idleSeconds) }

    func exportFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) { store.exportFile(of: snapshot) }

    func safetyFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) { store.safetyFile(of: snapshot) }

    var spoolPath: String { store.paths.spool }

    func isComplete(_ path: String) -> Bool { RestoreRunner(store: store).isComplete(path) }

    var strategies: [String] { RestoreRunner(store: store).strategies.map(\.rawValue).sorted() }

    var confirmationSeconds: UInt64 { UInt64(RestoreRunner.confirmationMinutes) * 60 }

    func submit(_ submission: DropSubmission) throws(BackupError) -> DropOutcome {
        let runner = RestoreRunner(store: store)
        let content =
            switch submission.content {
            case .spooled(let path): try ImportSource(file: path, name: submission.name)
            case .stored(let table): runner.stored(table, name: submission.name)
            }
        let source = try runner.withRecords(content)
        if !submission.isConfirmed {
            switch submission.purpose {
            case .preview: break
            case .restore: try runner.requireConfirmation(source)
            case .strategy(let name): try runner.requireConfirmation(source, strategy: ImportStrategy(rawValue: name))
            }
        }
        let report =
            switch submission.purpose {
            case .preview: try runner.preview(source, comparesOthers: true)
            case .restore: try restore(runner, source, nil)
            case .strategy(let name): try restore(runner, source, ImportStrategy(rawValue: name))
            }
        return DropOutcome(
            text: Array("\(text(report.text))\n".utf8), json: report.json.prettyText, leavesSome: report.leavesSome)
    }

    private func restore(
        _ runner: RestoreRunner, _ source: ImportSource, _ strategy: ImportStrategy?
    ) throws(BackupError) -> RestoreReport {
        SuccessorWarning.show(store)
        return try store.notifying(.restore, named: source.name) { () throws(BackupError) in
            (try runner.run(source, strategy: strategy, progress: nil), source.name)
        }
    }

    func noteEmptyDrop(named name: String) { RestoreRunner(store: store).reportEmptyFile(named: name) }

    func restoreReports() -> [ReportText] {
        var reports = [ReportText(name: "README.txt", content: store.restoreReadme, modificationTime: mountedAt)]
        for (name, path) in [("last.json", store.paths.lastRestoreJSON), ("last.txt", store.paths.lastRestoreText)] {
            guard let status = FileSystem.statusIfPresent(path), let content = try? FileSystem.readFile(path) else { continue }
            reports.append(ReportText(name: name, content: content, modificationTime: status.modificationTime))
        }
        if let json = reports.first(where: { $0.name == "last.json" }), let text = reports.first(where: { $0.name == "last.txt" })
        {
            let result = JSONMembers(json.content).flag("success") ? "RESTORED" : "NOT RESTORED"
            let name = "\(ReportText.lastResultStart) - \(result).txt"
            reports.append(ReportText(name: name, content: text.content, modificationTime: text.modificationTime))
        }
        return reports
    }
}
