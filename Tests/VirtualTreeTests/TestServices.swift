import BackupCore
import BackupRepository
import CopyVerify
import Formats
import Glibc
import Photos
import Synchronization
import SystemIO
import TestSupport

@testable import SnapshotFormats
@testable import VirtualTree

/// What a program around the tree would do, as simply as can be.
final class TestServices: TreeServices {
    struct State {
        /// Names and contents of what was handed in, with the purpose.
        var submissions: [String] = []
        /// How many of them were handed in as places in the repository.
        var storedSubmissionCount = 0
        var emptyDrops: [String] = []
        /// Thrown by the next submissions.
        var refusal: BackupError?
        var reports: [ReportText] = []
        /// What was asked for in `control/`.
        var controls: [String] = []
        /// In `reports/`.
        var operationReports: [ReportText] = []
        var status = "{}\n"
        var liveText = "live\n"
        /// Whether live files say which state they are in.
        var liveHasVersions = false
        /// The archives that were measured.
        var measuredSnapshots: [String] = []
        /// Thrown when archive.tar is measured.
        var sizeFailure: BackupError?
        var makeDirectoryWaitSeconds: Double?
        /// Where backups wait before they are made.
        var backupGate: BackupGate?
        /// Where they wait before they begin.
        var beginningGate: BackupGate?
        /// Where they wait when they are there, and not finished.
        var publishedGate: BackupGate?
        /// Whether a backup goes on as soon as it is asked to end, as one that can no longer be taken back.
        var finishesWhenCancelled = false
        var incompleteness: BackupError?
        /// The repositories of the remotes; a failure for one that cannot be reached.
        var remotes: [String: Result<Repository, BackupError>] = [:]
        /// Where photos that are copied are kept.
        var photoCopies: KeptCopies?
        /// Of an app with photos.
        var stars: [StarredPhoto] = []
        /// Stars a photo that was copied.
        var starring: (@Sendable (CopyDraft) throws(BackupError) -> SHA256Digest)?
    }

    /// No backup has records.
    final class NoHistories: RecordHistoryView {
        func collections(_ snapshots: [Snapshot]) throws(BackupError) -> [FileName] { [] }
        func records(of collection: FileName, _ snapshots: [Snapshot]) throws(BackupError) -> RecordNames? { nil }
        func history(
            of record: FileName, in collection: FileName, _ snapshots: [Snapshot]
        ) throws(BackupError) -> RecordHistory? { nil }
    }

    let recordHistories: any RecordHistoryView = NoHistories()

    func recordsPage(of snapshot: Snapshot, exportSizeBytes: UInt64) -> (head: [UInt8], hasExport: Bool) {
        (Array("<title>\(snapshot.name)</title><plaintext>".utf8), true)
    }

    let copySetNames: [String] = []
    func copySet(named name: String) throws(BackupError) -> CopySet? { nil }

    func control(_ verb: ControlVerb, _ argument: String) throws(BackupError) {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
        state.withLock { $0.controls.append("\(verb.rawValue) “\(argument)”") }
    }

    func controlText(_ verb: ControlVerb) -> ReportText {
        let text = state.withLock { $0.controls.last { $0.hasPrefix(verb.rawValue) } ?? "idle" }
        return ReportText(name: verb.rawValue, content: Array("\(text)\n".utf8), modificationTime: Timestamp(seconds: 5))
    }

    func controlState(_ verb: ControlVerb) -> ControlState? {
        state.withLock { state in state.controls.contains { $0.hasPrefix(verb.rawValue) } ? .ended : nil }
    }

    func reportNames() throws(BackupError) -> [FileName] { state.withLock { $0.operationReports.map { FileName($0.name) } } }
    func report(_ name: FileName) throws(BackupError) -> ReportText {
        guard let report = state.withLock({ $0.operationReports.first { FileName($0.name) == name } }) else {
            throw .notFound(name)
        }
        return report
    }

    let jobsPath = "/nonexistent/jobs"
    func askJob(_ name: FileName, _ request: [UInt8]) throws(BackupError) {
        throw BackupError(.notFound, "there is no such job", path: name.description)
    }

    func showsRenderedExport(_ snapshot: Snapshot) -> Bool { false }
    func renderedFiles(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> RenderedFiles? { nil }
    func letGoOfRenderedFiles(idleSeconds: Double) {}

    let repository: Repository
    /// There for as long as the tree that asks.
    private let folder: TemporaryFolder
    let state = Mutex(State())

    init(repository: Repository, folder: TemporaryFolder) {
        self.repository = repository
        self.folder = folder
    }

    var remoteNames: [String] { state.withLock { Array($0.remotes.keys) } }

    func remoteRepository(named name: String) throws(BackupError) -> Repository {
        guard let found = state.withLock({ $0.remotes[name] }) else { throw BackupError(.notFound, "there is no such remote") }
        return try found.get()
    }

    var hasPhotos: Bool { state.withLock { !$0.stars.isEmpty } }

    func starredPhotos() throws(BackupError) -> [StarredPhoto] { state.withLock { $0.stars } }

    func starredPhoto(named name: FileName) throws(BackupError) -> StarredPhoto? {
        state.withLock { $0.stars.first { $0.name == name } }
    }

    func makePhotoDraft() throws(BackupError) -> CopyDraft {
        guard let copies = state.withLock({ $0.photoCopies }) else { throw .readOnlyHere }
        return try copies.makeDraft()
    }

    func starPhoto(
        _ draft: CopyDraft, named name: FileName, over starred: StarredPhoto?, if isWanted: () -> Bool
    ) throws(BackupError) -> SHA256Digest {
        guard isWanted() else { throw BackupError(.busy, "the name is gone") }
        guard let starring = state.withLock({ $0.starring }) else { throw .readOnlyHere }
        return try starring(draft)
    }

    var spoolPath: String { folder.path + "/spool" }
    let strategies = ["merge"]

    static let photo = [UInt8](repeating: 7, count: 3000) + Array("photo".utf8)

    /// A file or folder of an app's media.
    indirect enum Media: Equatable {
        case file([UInt8])
        case folder([FileName: Media])
    }

    private func entry(
        _ name: FileName, _ media: Media, _ time: Timestamp, _ writer: BackupWriter
    ) throws(BackupError) -> TreeEntry {
        switch media {
        case .file(let bytes):
            return .file(name: name, mode: 0o600, modificationTime: time, stored: try writer.store(bytes, policy: .media))
        case .folder(let children):
            var entries: [TreeEntry] = []
            for (name, child) in children { entries.append(try entry(name, child, time, writer)) }
            return .directory(name: name, mode: 0o755, modificationTime: time, stored: try writer.store(entries))
        }
    }

    /// A snapshot with an export, a collection, and media with a folder, odd names and a link.
    /// - Parameter ownMedia: other media than these.
    @discardableResult
    func make(
        _ name: FileName, kind: SnapshotKind = .snapshot, seconds: Int64, ownMedia: [FileName: Media]? = nil,
        willAppear: (FileName) -> Bool = { _ in false }
    ) throws(BackupError) -> SnapshotID {
        let writer = try repository.makeWriter()
        let time = Timestamp(seconds: seconds)
        let text = Array("{\"name\": \"\(name)\"}\n".utf8)
        func file(_ name: FileName, _ bytes: [UInt8], mode: UInt32 = 0o600) throws(BackupError) -> TreeEntry {
            .file(name: name, mode: mode, modificationTime: time, stored: try writer.store(bytes, policy: .structuredText))
        }
        func folder(_ name: FileName, _ entries: [TreeEntry]) throws(BackupError) -> TreeEntry {
            .directory(name: name, mode: 0o755, modificationTime: time, stored: try writer.store(entries))
        }
        var media = [
            try file("photo.jpg", Self.photo, mode: 0o100444), try file("empty", []), try file("a\nb", [1]),
            try file(FileName(bytes: [0xFF]), [2]), try folder("sub", [file(".hidden", [3])]),
            .symbolicLink(name: "link", target: Array("photo.jpg".utf8), modificationTime: time),
        ]
        if let ownMedia {
            media = []
            for (name, child) in ownMedia { media.append(try entry(name, child, time, writer)) }
        }
        let root = try writer.store([
            file("export.json", text), file("database.sqlite", text + text),
            folder("data", [file("cars.json", Array("[]\n".utf8))]),
            folder("media", media.sorted { $0.name < $1.name }), file("manifest.json", text), file("changes.json", text),
        ])
        try writer.publishChunks()
        let sizes = try ArchiveSizes(of: repository.directory(root), layout: [:], names: .none, time: time, in: repository)
        let record = SnapshotRecord(
            kind: kind, name: name, creationTime: time, parent: nil, root: root,
            archiveSizeBytes: sizes.zip,
            archiveLayout: [:], attributes: ["app": "test", "records": "0", Snapshot.stampAttribute: "stamp-\(seconds)"])
        return try writer.commit(record, willAppear: willAppear).id
    }

    func text(_ message: Message) -> String { message.english }

    var storePath: String { folder.path }
    func readme() -> [UInt8] { Array("Read me\n".utf8) }
    func dashboard() throws(BackupError) -> [UInt8] { Array("<!DOCTYPE html>\n".utf8) }
    func status() throws(BackupError) -> [UInt8] { Array(state.withLock { $0.status }.utf8) }
    func liveView() throws(BackupError) -> any LiveView {
        state.withLock { TestLiveView(text: $0.liveText, hasVersions: $0.liveHasVersions) }
    }
    func letGoOfLiveView() {}
    func liveMedia() -> (any LiveView)? { nil }

    var makeDirectoryWaitSeconds: Double? { state.withLock { $0.makeDirectoryWaitSeconds } }

    func createSnapshot(named name: String, _ milestones: BackupMilestones) throws(BackupError) -> MadeSnapshot {
        try state.withLock { $0.beginningGate }?.wait()
        milestones.hasBegun()
        let gate = state.withLock { $0.backupGate }
        let seconds = 3000 + Int64(repository.snapshots().count)
        let id: SnapshotID
        if state.withLock({ $0.finishesWhenCancelled }) {
            for _ in 0..<60_000 where Cancellation.current?.isCancelled == false { usleep(1_000) }
            id = try Cancellation().run { () throws(BackupError) in
                try make(FileName(name), seconds: seconds, willAppear: milestones.willAppear)
            }
        } else {
            try gate?.wait()
            id = try make(FileName(name), seconds: seconds, willAppear: milestones.willAppear)
        }
        try repository.refresh()
        try state.withLock { $0.publishedGate }?.wait()
        return MadeSnapshot(id: id, incompleteness: state.withLock { $0.incompleteness })
    }

    func removeSnapshot(_ snapshot: Snapshot) throws(BackupError) { try repository.removeSnapshot(snapshot.id) }
    func renameSnapshot(_ snapshot: Snapshot, to name: FileName) throws(BackupError) {
        try repository.renameSnapshot(snapshot.id, to: name)
    }
    func own(_ snapshots: [Snapshot]) -> [Snapshot] { snapshots }

    var isNewestKnown: Bool { true }

    func setPinned(_ snapshot: Snapshot, _ isPinned: Bool) throws(BackupError) { try repository.setPinned(snapshot.id, isPinned) }

    func exportFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) {
        ("export_\(snapshot.creationTime.seconds).json", false)
    }
    func safetyFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool) {
        ("safety_\(snapshot.creationTime.seconds).zip", true)
    }
    /// The snapshots made above do not have the size of archive.tar in their records.
    @Sendable
    func measure(
        _ snapshot: Snapshot, _ format: ArchiveFormat, in repository: Repository
    ) throws(BackupError) -> UInt64 {
        state.withLock { $0.measuredSnapshots.append("\(snapshot.name) \(format)") }
        if format == .tar, let failure = state.withLock({ $0.sizeFailure }) { throw failure }
        return try ArchiveSizes.size(of: snapshot, format, in: repository)
    }

    /// Whole is what ends with a full stop.
    func isComplete(_ path: String) -> Bool { (try? FileSystem.readFile(path))?.last == UInt8(ascii: ".") }

    let confirmationSeconds: UInt64 = 600

    func submit(_ submission: DropSubmission) throws(BackupError) -> DropOutcome {
        let bytes =
            switch submission.content {
            case .spooled(let path): try FileSystem.readFile(path)
            case .stored(let table): try repository.readAll(table)
            }
        if case .stored = submission.content { state.withLock { $0.storedSubmissionCount += 1 } }
        let text = String(decoding: bytes, as: UTF8.self)
        let refusal = state.withLock { state in
            let confirmed = submission.isConfirmed ? " confirmed" : ""
            state.submissions.append("\(submission.purpose)\(confirmed) \(submission.name): \(text)")
            return state.refusal
        }
        if let refusal { throw refusal }
        guard text.hasSuffix(".") else { throw BackupError(.invalidContent, "it does not end with a full stop") }
        return DropOutcome(text: Array("fine: \(text)".utf8), json: Array("{}".utf8))
    }

    func noteEmptyDrop(named name: String) { state.withLock { $0.emptyDrops.append(name) } }
    var emptyDrops: [String] { state.withLock { $0.emptyDrops } }

    func restoreReports() -> [ReportText] { state.withLock { $0.reports } }

    var submissions: [String] { state.withLock { $0.submissions } }
    func refuse(_ code: BackupError.Code?) {
        state.withLock { $0.refusal = code.map { BackupError($0, "refused: \($0.rawValue)") } }
    }
}

/// `live/` with one file and a folder.
private final class TestLiveView: LiveView {
    private let text: [UInt8]
    private let hasVersions: Bool

    init(text: String, hasVersions: Bool) {
        self.text = Array(text.utf8)
        self.hasVersions = hasVersions
    }

    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? {
        switch path {
        case []: [file("export.json"), folder("media")]
        case ["media"]: [file(".hidden"), link("link"), file("now.jpg")]
        default: nil
        }
    }

    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? {
        try children(of: path.dropLast())?.first { $0.name == path.last }
    }

    private func entry(_ name: FileName, _ kind: FileKind, _ permissions: UInt32, _ bytes: [UInt8]) -> LiveEntry {
        LiveEntry(
            name: name, kind: kind, permissions: permissions, size: UInt64(bytes.count), modificationTime: Timestamp(seconds: 77),
            version: hasVersions && kind == .file ? UInt64(CRC32.of(bytes)) : nil, isSettled: name == "export.json",
            content: TestContent(bytes))
    }

    private func file(_ name: FileName) -> LiveEntry { entry(name, .file, 0o644, text) }
    private func folder(_ name: FileName) -> LiveEntry { entry(name, .directory, 0o755, []) }
    private func link(_ name: FileName) -> LiveEntry { entry(name, .symbolicLink, 0o777, Array("now.jpg".utf8)) }
}

/// The bytes of a file or link in it.
private final class TestContent: LiveContent {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var pieces: [ContentPiece] { [.literal(bytes)] }
    func checksums() throws(BackupError) -> Checksums { ContentHasher.hash(bytes) }
}

/// Keeps backups from being made until it is opened.
final class BackupGate: Sendable {
    private let verdict = Monitor<Result<Void, BackupError>?>(nil)

    /// - Parameter error: with which they fail.
    func open(_ error: BackupError? = nil) { verdict.changeWakingAll { $0 = error.map { .failure($0) } ?? .success(()) } }

    /// A backup that is to end does so here.
    func wait() throws(BackupError) {
        while !verdict.wait(until: { $0 != nil }, forNanoseconds: 10_000_000) { try Cancellation.check() }
        try verdict.withLock { $0 }?.get()
    }
}
