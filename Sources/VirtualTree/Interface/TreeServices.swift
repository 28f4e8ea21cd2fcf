import BackupCore
import BackupRepository

/// What the tree asks of the rest of the program: to act, and to render what is not stored. The program's wiring implements it;
/// tests use a small one of their own.
public protocol TreeServices: AnyObject, Sendable {
    /// The store's folder.
    var storePath: String { get }
    /// `README.txt`.
    func readme() -> [UInt8]
    /// A message in the language of the store.
    func text(_ message: Message) -> String
    /// `status.json` as of now.
    func status() throws(BackupError) -> [UInt8]

    /// The app's data as it is now. The same view comes back until the data changes.
    func liveView() throws(BackupError) -> any LiveView
    /// Forgets the view: it takes room, and nothing has looked at it for a while. The next look makes another one.
    func letGoOfLiveView()
    /// The app's media folder alone, as `live/media` shows it: looking at it renders nothing. `nil` where `liveView` has to be asked.
    func liveMedia() -> (any LiveView)?

    /// Backs up; returns when the backup is durable. Throws `busy` while another operation runs, and `alreadyExists` for a name that is taken, before
    /// `milestones.hasBegun` is called.
    func createSnapshot(named name: String, _ milestones: BackupMilestones) throws(BackupError) -> MadeSnapshot
    /// For how long `mkdir` waits for its backup, in seconds, before it answers with a folder that is pending; `nil` for as long as it takes.
    var makeDirectoryWaitSeconds: Double? { get }
    func removeSnapshot(_ snapshot: Snapshot) throws(BackupError)
    func renameSnapshot(_ snapshot: Snapshot, to name: FileName) throws(BackupError)
    func setPinned(_ snapshot: Snapshot, _ isPinned: Bool) throws(BackupError)
    /// Those of `snapshots` that this store made, in the order in which it made them; a repository may hold those of others as well.
    /// Answers from memory: it is asked also while the store's storage does not answer.
    func own(_ snapshots: [Snapshot]) -> [Snapshot]
    /// Whether the newest of them is this store's for certain. While another store continues its backups it may be that one's.
    var isNewestKnown: Bool { get }

    /// The app's own file name for a snapshot in `exports/`, without a suffix against clashes, and whether that file is the archive.
    func exportFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool)
    /// The name of a safety backup's file, and whether it is the archive (an app with media) or the export.
    func safetyFile(of snapshot: Snapshot) -> (name: String, isArchive: Bool)
    /// Exact size of a snapshot's archive in bytes. It may cost a walk through the snapshot's folders.
    func archiveSize(of snapshot: Snapshot, _ format: ArchiveFormat) throws(BackupError) -> UInt64
    /// Lays the snapshot out as one archive.
    func archiveTable(of snapshot: Snapshot, _ format: ArchiveFormat) throws(BackupError) -> ExtentTable

    /// Where dropped files are spooled; on the same file system as the rest of the store.
    var spoolPath: String { get }
    /// Whether a dropped file is whole (its JSON is closed, its ZIP has an end): a file still being written is not.
    func isComplete(_ path: String) -> Bool
    /// The names of the folders of `restore/` in which a dropped file is restored with the strategy of that name.
    var strategies: [String] { get }
    /// Restores, or tells what a restore would do. Returns when it is done and durable.
    func submit(_ submission: DropSubmission) throws(BackupError) -> DropOutcome
    /// A file was dropped with nothing in it: tells so where a restore is told of. What comes later of the same name is told in its place.
    func noteEmptyDrop(named name: String)
    /// `last.json` and `last.txt` of `restore/`; empty before the first restore.
    func restoreReports() -> [ReportText]
}
