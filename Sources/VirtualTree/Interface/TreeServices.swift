import BackupCore
import BackupRepository
import CopyVerify
import Photos
import SnapshotFormats
import SystemIO

/// What the tree needs from the rest of the program: actions, and rendering of data that is not stored. The main program
/// implements it; tests use a small implementation of their own.
public protocol TreeServices: AnyObject, Sendable {
    /// The store's folder.
    var storePath: String { get }
    /// `README.txt`.
    func readme() -> [UInt8]
    /// A message in the language of the store.
    func text(_ message: Message) -> String
    /// The current `status.json`.
    func status() throws(BackupError) -> [UInt8]
    /// The current `index.html`.
    func dashboard() throws(BackupError) -> [UInt8]

    /// What precedes the export in `index.html` of a snapshot.
    /// - Returns: also whether the export follows: it does not if it is too large for a browser.
    func recordsPage(of snapshot: Snapshot, exportSizeBytes: UInt64) -> (head: [UInt8], hasExport: Bool)
    /// What `history/` shows.
    var recordHistories: any RecordHistoryView { get }

    /// The app's current data. Returns the same view until the data changes.
    func liveView() throws(BackupError) -> any LiveView
    /// Releases the view: it takes space, and has not been used for a while. The next access creates a new one.
    func letGoOfLiveView()
    /// The app's media folder alone, as in `live/media`, without rendering anything. `nil` if `liveView` has to be used.
    func liveMedia() -> (any LiveView)?

    /// Whether the app's media are photos, which are shown by date and camera, too.
    var hasPhotos: Bool { get }
    /// The photos in the app's media folder; the same object until the folder changes. New ones are read.
    func livePhotos() throws(BackupError) -> PhotoIndex
    /// What the newest backup knows of a photo in the app's media folder, if that looks unchanged. Reads no photo.
    /// - Parameter path: below the media folder.
    func knownPhoto(path: [UInt8], sizeBytes: UInt64, modificationTime: Timestamp) -> PhotoRecord?

    /// The starred photos, in the order of their paths.
    func starredPhotos() throws(BackupError) -> [StarredPhoto]
    /// The star of that name.
    func starredPhoto(named name: FileName) throws(BackupError) -> StarredPhoto?
    /// The star of a file of the app's media folder; `nil` without one.
    func star(ofPhoto path: [UInt8]) throws(BackupError) -> StarredPhoto?
    /// Stars a photo, or takes its star away. Durable when it returns; the upload follows in the background.
    /// - Throws: `notFound` for a file that is not there; `invalidArgument` for a path that is not UTF-8; `notPermitted` for a
    ///   star whose kept copy is the only one.
    func setStarred(photo path: [UInt8], _ isStarred: Bool) throws(BackupError)
    /// Makes a file in the store for a photo that is copied.
    func makePhotoDraft() throws(BackupError) -> CopyDraft
    /// Keeps copied bytes, and stars the photo of the app's media folder that has them. Durable when it returns.
    /// - Parameters:
    ///   - name: of the copy.
    ///   - starred: the star that has this name already, of which a copy is kept.
    ///   - isWanted: asked before anything is kept: whether the name is still there.
    /// - Returns: the bytes.
    /// - Throws: `invalidArgument` when no photo has them; `alreadyExists` for other bytes than those of `starred`; `busy` when
    ///   it is not wanted. Nothing is kept then.
    func starPhoto(
        _ draft: CopyDraft, named name: FileName, over starred: StarredPhoto?, if isWanted: () -> Bool
    ) throws(BackupError) -> SHA256Digest
    /// Keeps copied bytes that no star stands for, although programs believe that they were copied, and reports where they are.
    /// - Parameter name: of the copy.
    func setAside(_ draft: CopyDraft, named name: FileName)
    /// A kept copy, whose bytes were checked. When it is damaged or gone, the photo with these bytes in the media folder.
    /// - Parameter path: of that photo, below the media folder; `nil` when it is not known.
    /// - Throws: `notFound`; `damagedContent`.
    func openKeptPhoto(_ sha256: SHA256Digest, orPhoto path: String?) throws(BackupError) -> SharedFile
    /// The files about the uploads of starred photos: `catalog.jsonl`, and those in `queue` and `status`.
    /// - Parameter folder: `nil` for those at the top.
    func photoQueueFiles(in folder: PhotoQueueFolder?) throws(BackupError) -> [FileName]
    /// Whether there is such a file.
    func hasPhotoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> Bool
    /// - Throws: `notFound`.
    func photoQueueFile(_ name: FileName, in folder: PhotoQueueFolder?) throws(BackupError) -> [UInt8]
    /// Takes the star of a photo away whose upload waits or runs: the upload ends.
    /// - Throws: `notFound`; `notPermitted` as for `setStarred`.
    func cancelPhoto(queueFile name: FileName) throws(BackupError)
    /// The app's media folder on this machine, for links that lead there; `nil` for an app without one.
    var mediaFolderPath: String? { get }

    /// Does what a file of `control/` is for, or begins it.
    /// - Parameter argument: what was written into it, without space around it.
    /// - Throws: `busy`; `invalidArgument`; why it failed, if it did so right at the start.
    func control(_ verb: ControlVerb, _ argument: String) throws(BackupError)
    /// What that file says: what it is for, or how the last request goes or went. Answers from memory.
    func controlText(_ verb: ControlVerb) -> ReportText
    /// `nil` if nothing was asked there yet. Answers from memory.
    func controlState(_ verb: ControlVerb) -> ControlState?

    /// The names of the files in `reports/`.
    func reportNames() throws(BackupError) -> [FileName]
    /// - Throws: `notFound`; `damagedContent`.
    func report(_ name: FileName) throws(BackupError) -> ReportText

    /// The folder of the store with a folder for each copy job.
    var jobsPath: String { get }
    /// Asks a job what was written into its file `control`: to pause, to resume or to end.
    /// - Throws: `invalidArgument` for other words; `notFound` when no process works at the job; why it cannot resume.
    func askJob(_ name: FileName, _ request: [UInt8]) throws(BackupError)

    /// The names of the sets of destinations that files are copied into. Answers from memory.
    var copySetNames: [String] { get }
    /// - Returns: `nil` when there is none of that name.
    func copySet(named name: String) throws(BackupError) -> CopySet?

    /// Makes a backup; returns when it is durable. Before calling `milestones.hasBegun`, it
    /// may throw `busy` while another operation runs, and `alreadyExists` for a name in use.
    func createSnapshot(named name: String, _ milestones: BackupMilestones) throws(BackupError) -> MadeSnapshot
    /// How long `mkdir` waits for its backup, in seconds, before it returns a pending folder; `nil` for no limit.
    var makeDirectoryWaitSeconds: Double? { get }
    /// Removes it; it can be brought back within the grace period.
    func removeSnapshot(_ snapshot: Snapshot) throws(BackupError)
    /// - Throws: `alreadyExists` when another snapshot has the name.
    func renameSnapshot(_ snapshot: Snapshot, to name: FileName) throws(BackupError)
    /// A pinned snapshot is kept from retention and from being removed.
    func setPinned(_ snapshot: Snapshot, _ isPinned: Bool) throws(BackupError)
    /// Those of `snapshots` that this store made, in the order in which it made them; a repository may hold those of other stores
    /// as well. Answers from memory: it is also called while the store's storage does not respond.
    func own(_ snapshots: [Snapshot]) -> [Snapshot]
    /// Whether the newest of them is certainly this store's. While another store continues its backups, the newest may be that
    /// store's.
    var isNewestKnown: Bool { get }

    /// The names of the store's remotes: places elsewhere with copies of the repository. Answers from memory.
    var remoteNames: [String] { get }
    /// The repository in a remote, as this machine last saw it; the same object until the remote is configured otherwise. The
    /// first call may wait for the network; later ones make another thread look for changes.
    /// - Throws: `notFound` for a name that is not in `remoteNames`; `noRepository` when the remote is empty; `offline` and
    ///   others while it cannot be reached and was never seen.
    func remoteRepository(named name: String) throws(BackupError) -> Repository

    /// Whether a snapshot is shown with an export that it does not store. Answers from the snapshot's record.
    func showsRenderedExport(_ snapshot: Snapshot) -> Bool
    /// The export of such a snapshot: the same bytes while the store is mounted. The first call for a snapshot may render it.
    /// - Parameter repository: where the snapshot is.
    /// - Returns: `nil` for other snapshots.
    func renderedFiles(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> RenderedFiles?
    /// Releases what was rendered and has been idle for this long: the next access renders it again.
    func letGoOfRenderedFiles(idleSeconds: Double)

    /// The app's own file name for a snapshot in `exports/`, without a suffix to resolve duplicates, and whether that file is the
    /// archive.
    func exportFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool)
    /// The name of a safety backup's file, and whether it is the archive (an app with media) or the export.
    func safetyFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool)

    /// The spool folder for dropped files; on the same file system as the rest of the store.
    var spoolPath: String { get }
    /// Whether a dropped file is complete (its JSON is closed, its ZIP has an end), and not still being written.
    func isComplete(_ path: String) -> Bool
    /// The names of the restore strategies. Each has a folder in `restore/`, and a file dropped there is restored with it.
    var strategies: [String] { get }
    /// How long a confirmation of a restore holds, in seconds.
    var confirmationSeconds: UInt64 { get }
    /// Restores, or reports what a restore would do. Returns when it is done and durable.
    func submit(_ submission: DropSubmission) throws(BackupError) -> DropOutcome
    /// Reports an empty dropped file in the place where restores are reported. A later report about a file with the same name
    /// replaces this one.
    func noteEmptyDrop(named name: String)
    /// `README.txt` of `restore/`, and after the first restore also `last.json`, `last.txt`, and the same text under a name that
    /// tells the result.
    func restoreReports() -> [ReportText]
}

/// A photo with a star.
public struct StarredPhoto: Sendable {
    /// Below the media folder.
    public let path: String
    /// That of the photo, with a number if another star has it. It stays the same while the store is mounted.
    public let name: FileName
    /// `queued`, `uploaded`, `failed:networkError` and so on.
    public let status: String
    /// When it was starred last.
    public let starredAt: Timestamp
    /// `nil` for one that is only in the media folder, or in the bucket.
    public let copy: Copy?

    /// The bytes that the store keeps of a photo that was copied into `photos/starred/`.
    public struct Copy: Sendable {
        /// Of the bytes.
        public let sha256: SHA256Digest
        /// Their number.
        public let sizeBytes: UInt64
        /// That of the photo.
        public let modificationTime: Timestamp

        public init(sha256: SHA256Digest, sizeBytes: UInt64, modificationTime: Timestamp) {
            self.sha256 = sha256
            self.sizeBytes = sizeBytes
            self.modificationTime = modificationTime
        }
    }

    public init(path: String, name: FileName, status: String, starredAt: Timestamp, copy: Copy? = nil) {
        self.path = path
        self.name = name
        self.status = status
        self.starredAt = starredAt
        self.copy = copy
    }
}

/// The folders with files about the uploads of starred photos.
public enum PhotoQueueFolder: String, Sendable, CaseIterable {
    case queue, status
}

/// A backup made by `mkdir`.
public struct MadeSnapshot: Sendable {
    public let id: SnapshotID
    /// What the backup lacks, or that it has another name than the requested one: the backup exists and is listed, but it is not
    /// exactly what the user requested. `nil` when nothing is wrong.
    public let incompleteness: BackupError?

    public init(id: SnapshotID, incompleteness: BackupError? = nil) {
        self.id = id
        self.incompleteness = incompleteness
    }
}

/// A submitted dropped file.
public struct DropSubmission: Sendable {
    /// What is done with the file, by the folder it was dropped into.
    public enum Purpose: Sendable, Equatable {
        /// To be restored with the app's default strategy.
        case restore
        /// To be restored with this strategy.
        case strategy(String)
        case preview

        /// Whether it may replace all data, which the settings may have confirmed.
        var mayNeedConfirmation: Bool {
            switch self {
            case .restore: true
            case .strategy(let name): name == "replace"
            case .preview: false
            }
        }
    }

    /// Where the dropped content is.
    public enum Content: Sendable {
        /// In a file.
        case spooled(path: String)
        /// In the repository: it was copied from a snapshot's file, and no data was moved.
        case stored(ExtentTable)
    }

    /// The name that the user gave it.
    public let name: String
    public let content: Content
    public let purpose: Purpose
    /// Whether the user has confirmed that it may replace all data.
    public let isConfirmed: Bool

    public init(name: String, content: Content, purpose: Purpose, isConfirmed: Bool = false) {
        self.name = name
        self.content = content
        self.purpose = purpose
        self.isConfirmed = isConfirmed
    }
}

/// The result for a dropped file that was accepted.
public struct DropOutcome: Sendable {
    /// The text for the user; for a preview the text of `NAME.preview.txt`.
    public let text: [UInt8]
    /// The same for programs.
    public let json: [UInt8]
    /// Whether some of the file's content was not restored: the file may then be the only copy of that.
    public let leavesSome: Bool

    public init(text: [UInt8], json: [UInt8], leavesSome: Bool = false) {
        self.text = text
        self.json = json
        self.leavesSome = leavesSome
    }
}

/// A file that reports the result of an operation: of the last restore in `restore/`, or one in `reports/`.
public struct ReportText: Sendable {
    /// How the names of files in `restore/` begin that tell the last result, so that file managers show them first.
    public static let lastResultStart = "LAST RESULT"

    /// The name in its folder.
    public let name: String
    /// The whole text.
    public let content: [UInt8]
    /// When the operation ended.
    public let modificationTime: Timestamp

    public init(name: String, content: [UInt8], modificationTime: Timestamp) {
        self.name = name
        self.content = content
        self.modificationTime = modificationTime
    }
}
